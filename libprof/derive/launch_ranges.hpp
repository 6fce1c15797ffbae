// Which NVTX range each call that asked for GPU work was made in: table LAUNCH_RANGE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libprof/derive/gpu_work.hpp"
#include "libprof/derive/range_index.hpp"
#include "libprof/derive/sorted.hpp"
#include "libprof/store/new_trees.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// One thread. Memory: what Sorted takes, a bit for each call, and in the end 24 bytes for calls
// that follow one another in one range.
class LaunchRanges {
 public:
  // A call, and the range it was made in. Of several with one id the first counts.
  void add(std::int64_t correlation, std::optional<RangeIndex::Match> match);

  // All have come.
  void end();
  // The same, and makes the table.
  void write(store::NewTrees& trees);
  // Fills the table, inside the caller's transaction.
  void write(store::Database& database);
  // When all have come: of work with this id. 0: none.
  std::int64_t range_of(std::int64_t correlation) const;

 private:
  struct Call {
    std::int64_t correlation = 0;
    std::int64_t range_and_match = 0;  // 2 * range + by thread; 0: none
    std::int64_t range() const { return range_and_match >> 1; }
    std::int64_t by_thread() const { return range_and_match & 1; }
    bool operator<(const Call& other) const { return correlation < other.correlation; }
  };
  // Ids between that are no calls do not matter.
  struct Run {
    std::int64_t first, last;  // correlation ids
    std::int64_t range;
  };

  void for_each_in_range(const auto& take);

  Sorted<Call> calls_;
  CorrelationSet known_;
  std::vector<Run> runs_;
  mutable std::size_t latest_ = 0;  // what was asked for is near what was asked for before
};

}  // namespace gpuprof::derive
