// The nesting paths of NVTX ranges: table NVTX_PATH.
#pragma once

#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Fills the table from NVTX_RANGE and adds the paths to StringTable, inside the caller's
// transaction. Nobody else may add strings meanwhile. Memory: some 16 bytes per range, plus the
// paths.
void write_nvtx_paths(store::Database& database);

}  // namespace gpuprof::compute
