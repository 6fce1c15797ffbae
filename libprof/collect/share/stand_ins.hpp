// CUPTI's functions, as another client in the target calls them: those whose state a client has for
// itself are answered by Sharing, the others by the collector's copy of CUPTI.
//
// Any thread.
#pragma once

#include "libprof/collect/share/sharing.hpp"
#include "libprof/cupti/api.hpp"

namespace gpuprof::collect {

// From now on clients are served by `sharing`. Both stay until the process ends.
void serve_clients(Sharing& sharing, const cupti::Api& cupti);
// From now on their calls go to CUPTI.
void stop_serving_clients();
// Whether clients were ever served.
bool have_stand_ins();

// What stands for a function of CUPTI's: one of ours, or that of the collector's copy. Null: it has
// none of this name. Requires have_stand_ins(), as the next two.
void* stand_in_for(const char* name);
// The same for an import of a library; also for dlsym, by which clients look CUPTI's functions up.
// Null: nothing, or nothing yet. The loader may be locked. One thread at a time, also with
// look_up_imports(), which looks up what was not known yet: true if there was any.
void* stand_in_for_import(const char* name);
bool look_up_imports();

}  // namespace gpuprof::collect
