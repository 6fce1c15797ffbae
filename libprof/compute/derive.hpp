// Everything computed from the records once a run is over: the NVTX range of each launch, GPU work
// per range, device utilization and gaps, the occupancy of launches, the spread of durations,
// memory allocated, and indexes. Works on our files, on excerpts of them and on what a killed
// launcher left behind.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/compute/row_groups.hpp"
#include "libprof/compute/timeline/store_timeline.hpp"
#include "libprof/store/sqlite.hpp"
#include "schema/legacy.hpp"

namespace gpuprof::compute {

struct ComputeOptions {
  // Each is created if its table has rows and the index does not exist yet.
  std::span<const schema::Index> indexes = {};
  // Polled by this thread; true ends the computation with a DatabaseError of kind interrupted and
  // leaves the file as it is at that point. May be empty.
  std::function<bool()> stop = {};
  // Called with the current step, repeatedly while it lasts. May be empty.
  std::function<void(std::string_view)> progress = {};
  // Whether to store a timeline for viewers.
  timeline::StoredTimeline timeline = timeline::StoredTimeline::automatic;
  RowGroups::Options row_groups = {};
  // Of GPU work, in an AccountBlock; 0: by the size of the file. Others are for tests.
  std::int64_t works_per_block = 0;
  // Computes more once the tables are filled and no transaction is open. It must call `check` now
  // and then, which may throw. May be empty.
  std::function<void(store::Database&, const std::function<void()>& check)> more = {};
};

// Reads everything, outside a transaction so that several connections can read, and replaces the
// contents of the tables with the results. NVTX_RANGE must have been computed. Called by one
// thread; memory does not grow with the records, except for some 150 bytes per NVTX range.
//
// If the file is not small and holds its entire state (no log, no transaction), large tables and
// indexes are built page by page (store::NewTrees), otherwise by SQLite.
//
// Returns what could not be computed because there was no room for temporary data; empty: nothing.
std::string compute(store::Database& database, const ComputeOptions& options);

}  // namespace gpuprof::compute
