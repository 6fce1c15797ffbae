// Fills NVTX_RANGE from MARKER and MARKER_DATA: both ends of a range in one row, with nesting.
#pragma once

#include <cstdint>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// Recomputes the table from all markers in the database, inside the caller's transaction.
//
// A range that is an object of the process is start_end. Where CUPTI made the records (gpuprof 0.1,
// nvprof), all are objects of a thread: there a range is start_end if it ends on another thread or
// crosses another range of its thread and domain; of two crossing ranges both count as such,
// because one of them must be and there is no telling which. All others are push_pop.
//
// Returns the number of ranges without an end because too many were open at once
// (wire::max_open_ranges).
std::uint64_t compute_nvtx_ranges(Database& database);

}  // namespace gpuprof::store
