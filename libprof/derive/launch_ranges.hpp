// Which NVTX range each call that asked for GPU work was made in: table LAUNCH_RANGE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libprof/derive/gpu_work.hpp"
#include "libprof/derive/range_index.hpp"
#include "libprof/derive/sorted.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// One thread. Memory: what Sorted takes, and after write() 24 bytes for calls that follow one
// another in one range.
class LaunchRanges {
 public:
  // A call, and the range it was made in. Of several with one id the first counts.
  void add(std::int64_t correlation, std::optional<RangeIndex::Match> match);

  // Fills the table, inside the caller's transaction. Nothing may be added afterwards.
  void write(store::Database& database);
  // After write(): of work with this id. 0: none.
  std::int64_t range_of(std::int64_t correlation) const;

 private:
  struct Call {
    std::int64_t correlation = 0;
    std::int64_t range = 0;  // 0: none
    bool by_thread = false;
    bool operator<(const Call& other) const { return correlation < other.correlation; }
  };
  // Ids between that are no calls do not matter.
  struct Run {
    std::int64_t first, last;  // correlation ids
    std::int64_t range;
  };

  Sorted<Call> calls_;
  CorrelationSet known_;
  std::vector<Run> runs_;
  mutable std::size_t latest_ = 0;  // what was asked for is near what was asked for before
};

}  // namespace gpuprof::derive
