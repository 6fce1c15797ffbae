// What a dead target had in its activity buffers, sent on as batches.
#pragma once

#include "libprof/wire/codec.hpp"

namespace gpuprof::collect {

// Takes over both descriptors. `config` is what the launcher says (wire/FORMAT.md): the libcupti
// that wrote the records, the slots whose batches arrived. Without slots that are left, nothing is
// loaded. false: it could not be done, or not to the end; what was sent is right all the same.
bool salvage(int arena_file, int socket, const wire::Fields& config);

}  // namespace gpuprof::collect
