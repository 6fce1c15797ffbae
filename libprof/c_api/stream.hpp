// Streams of Arrow's C interface over rows that are in memory.
#pragma once

#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/gpuprof.h"

namespace gpuprof::c_api {

// One chunk with these rows, or none where there are none. The stream owns them; any thread may
// have it, one at a time.
ArrowArrayStream stream_of(std::vector<ArrowColumn>& columns);

// See gpuprof_join(). Throws Error.
ArrowArrayStream join(std::vector<Owned<ArrowArrayStream>> streams);

}  // namespace gpuprof::c_api
