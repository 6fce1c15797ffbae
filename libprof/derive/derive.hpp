// What a file knows when its run is over, computed of all that was recorded: which NVTX range each
// launch was made in, what the GPU did for a range, how busy devices were, and their gaps; the
// occupancy of launches, how durations are spread, how much memory was allocated; and indexes. Of
// files of ours, of parts of them, and of what a killed launcher left.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "libprof/tracks/store_timeline.hpp"
#include "schema/legacy.hpp"

namespace gpuprof::derive {

struct Options {
  // Those that are made where the table has rows and the index is not there.
  std::span<const schema::Index> indexes = {};
  // Asked now and then by this thread; true ends the computing with a DatabaseError of the kind
  // interrupted. The file is as it was then. May be empty.
  std::function<bool()> stop = {};
  // Told what is being done, and told again while it lasts. May be empty.
  std::function<void(std::string_view)> progress = {};
  // Whether it gets a timeline for viewers.
  tracks::StoredTimeline timeline = tracks::StoredTimeline::automatic;
  // Computes more, when the tables are filled and no transaction is open. It calls `check` now and
  // then, which may throw. May be empty.
  std::function<void(store::Database&, const std::function<void()>& check)> more = {};
};

// Reads all, outside a transaction so that several connections can read, and writes what it found
// in place of what the tables hold. NVTX_RANGE has been computed. One thread calls; memory does not
// grow with the records, but for some 150 bytes per NVTX range.
//
// Where the file has all of its state (no log, no transaction) large tables and indexes are made
// page by page (store::NewTrees), otherwise by SQLite.
//
// Returns what could not be computed for want of room for temporary data; empty: nothing.
std::string compute(store::Database& database, const Options& options);

}  // namespace gpuprof::derive
