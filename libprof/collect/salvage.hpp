// What a dead target had in its activity buffers, sent on as batches.
#pragma once

namespace gpuprof::collect {

// Takes over both descriptors. The launcher's config frame on the socket names the libcupti that
// wrote the records and the slots whose batches arrived. false: it could not be done, or not to the
// end; what was sent is right all the same.
bool salvage(int arena_file, int socket);

}  // namespace gpuprof::collect
