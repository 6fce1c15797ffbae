// GPU work of NVTX ranges, including nested ranges: table RANGE_TIME.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/intervals/busy.hpp"
#include "libprof/compute/range_index.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: some 100 bytes per range with work.
class RangeTimes {
 public:
  // Work counts for at most this many enclosing ranges, starting from the innermost. A program that
  // opens ranges and never closes them nests them endlessly.
  static constexpr int most_levels = 32;

  struct Time {
    std::int64_t work = 0;
    std::int64_t kernels = 0;
    intervals::Busy busy;
  };

  // Call in start order. `range`: the innermost range in which the work was requested. `parents`
  // must not change between calls.
  void add(const GpuWork& work, std::int64_t range, const RangeParents& parents);

  // By device and range. Omits ranges for which some nested work was not counted.
  void for_each(
      const std::function<void(std::int64_t device, std::int64_t range, const Time&)>& take) const;

 private:
  // The times of a range and its enclosing ranges, for work on one device.
  struct Chain {
    std::int64_t device = 0;
    std::int64_t range = 0;  // 0: none
    std::vector<Time*> times;
  };
  void find(std::int64_t device, std::int64_t range, const RangeParents& parents);

  std::map<std::int64_t, std::unordered_map<std::int64_t, Time>> times_;  // by device
  std::unordered_set<std::int64_t> incomplete_;
  Chain latest_;  // successive work is mostly in the same range
};

}  // namespace gpuprof::compute
