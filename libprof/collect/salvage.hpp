// Sends what a dead target left in its activity buffers, as batches.
#pragma once

#include "libprof/wire/codec.hpp"

namespace gpuprof::collect {

// Takes ownership of both descriptors. `config` comes from the launcher (wire/FORMAT.md): the
// libcupti that wrote the records, and the slots whose batches arrived. If no slots are left,
// nothing is loaded. false: it could not be done, or not completely; whatever was sent is valid
// anyway.
bool salvage(int arena_file, int socket, const wire::Fields& config);

}  // namespace gpuprof::collect
