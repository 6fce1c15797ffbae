// The NVTX range in which each call requested GPU work: table LAUNCH_RANGE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/range_index.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/store/new_trees.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: what Sorted uses, one bit per call and, at the end, 24 bytes per run
// of consecutive calls in the same range.
class LaunchRanges {
 public:
  // A call and its range. If several calls have the same id, the first counts.
  void add(std::int64_t correlation, std::optional<RangeIndex::Match> match);

  // Call when all have been added.
  void end();
  // Like end(), and also builds the table.
  void write(store::NewTrees& trees);
  // Fills the table, inside the caller's transaction.
  void write(store::Database& database);
  // The range of work with this id, or 0. Only after end() or a write().
  std::int64_t range_of(std::int64_t correlation) const;

 private:
  struct Call {
    std::int64_t correlation = 0;
    std::int64_t range_and_match = 0;  // 2 * range + by_thread; 0: none
    std::int64_t range() const { return range_and_match >> 1; }
    std::int64_t by_thread() const { return range_and_match & 1; }
    bool operator<(const Call& other) const { return correlation < other.correlation; }
  };
  // Ids in between that belong to no call do not matter.
  struct Run {
    std::int64_t first, last;  // correlation ids
    std::int64_t range;
  };

  void for_each_in_range(const auto& take);

  Sorted<Call> calls_;
  CorrelationSet known_;
  std::vector<Run> runs_;
  mutable std::size_t latest_ = 0;  // lookups tend to be near the previous one
};

}  // namespace gpuprof::compute
