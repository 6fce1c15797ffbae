// NVTX_RANGE out of MARKER and MARKER_DATA: both ends of a range in one row, with nesting.
#pragma once

#include <cstdint>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// Computed anew from all markers in the database, inside the caller's transaction.
//
// CUPTI gives push/pop ranges and start/end ranges the same records. A range is start_end when its
// end is in another thread or it crosses another range of its thread and domain; of two ranges that
// cross both count as such, because one of them must be and it cannot be told which. All others are
// push_pop, so a start/end range that happens to nest is taken for one.
//
// Returns how many ranges have no end because too many were open at a time
// (wire::max_open_ranges).
std::uint64_t compute_nvtx_ranges(Database& database);

}  // namespace gpuprof::store
