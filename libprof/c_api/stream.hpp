// Arrow C streams over rows in memory.
#pragma once

#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/gpuprof.h"

namespace gpuprof::c_api {

// A stream of one chunk with these rows, or of none if there are no rows. The stream owns the rows;
// any thread may use it, one at a time.
ArrowArrayStream stream_of(std::vector<ArrowColumn>& columns);

// See gpuprof_join(). Throws Error.
ArrowArrayStream join(std::vector<Owned<ArrowArrayStream>> streams);

}  // namespace gpuprof::c_api
