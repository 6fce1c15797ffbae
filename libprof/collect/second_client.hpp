// Other CUPTI clients in the target, torch.profiler say. Only one can have CUPTI, and we came
// first: theirs fails with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED. CUPTI tells us nothing
// of it, so the user would never learn why that tool's results are empty.
//
// Libraries that were linked against CUPTI call cuptiSubscribe through their own table of imported
// functions. There we put a function that answers as CUPTI would, and tells. Clients that look
// CUPTI up with dlsym are not seen; they get CUPTI's own answer.
#pragma once

#include <cupti.h>

namespace gpuprof::collect {

// Looks through the libraries that were loaded since the last call. `told` is called, once per
// attempt to subscribe, in the thread that tries, with the path of the library. One thread at a
// time.
void watch_for_second_clients(void (*told)(const char* library));

// Libraries and programs with a libcupti of their own push correlation ids into that one, which
// nobody reads. From the next look on their calls go to these functions of ours.
void take_external_correlation(decltype(&::cuptiActivityPushExternalCorrelationId) push,
                               decltype(&::cuptiActivityPopExternalCorrelationId) pop);

// From now on their calls go where they were meant to. For a collector that has given CUPTI up.
void leave_second_clients_alone();

}  // namespace gpuprof::collect
