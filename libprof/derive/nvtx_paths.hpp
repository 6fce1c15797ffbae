// Where NVTX ranges lie: table NVTX_PATH.
#pragma once

#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// Fills the table out of NVTX_RANGE and adds the paths to StringTable, inside the caller's
// transaction. Nobody else adds strings meanwhile. Memory: some 16 bytes per range, and the paths.
void write_nvtx_paths(store::Database& database);

}  // namespace gpuprof::derive
