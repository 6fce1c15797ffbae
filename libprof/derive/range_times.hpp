// What devices did for NVTX ranges and the ranges inside these: table RANGE_TIME.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "libprof/derive/gpu_work.hpp"
#include "libprof/derive/range_index.hpp"
#include "libprof/intervals/busy.hpp"

namespace gpuprof::derive {

// One thread. Memory: some 100 bytes for each range with work.
class RangeTimes {
 public:
  // Work counts for so many ranges, from the innermost on. A program that opens ranges and never
  // closes them nests them without end.
  static constexpr int most_levels = 32;

  struct Time {
    std::int64_t work = 0;
    std::int64_t kernels = 0;
    intervals::Busy busy;
  };

  // In the order in which it begins. `range`: the innermost one that it was asked for in. `parents`
  // stays the same.
  void add(const GpuWork& work, std::int64_t range, const RangeParents& parents);

  // By device and range. Without ranges around which there is work that did not get to them.
  void for_each(
      const std::function<void(std::int64_t device, std::int64_t range, const Time&)>& take) const;

 private:
  // The times of a range and of those around it, for work of one device.
  struct Chain {
    std::int64_t device = 0;
    std::int64_t range = 0;  // 0: none
    std::vector<Time*> times;
  };
  void find(std::int64_t device, std::int64_t range, const RangeParents& parents);

  std::map<std::int64_t, std::unordered_map<std::int64_t, Time>> times_;  // by device
  std::unordered_set<std::int64_t> incomplete_;
  Chain latest_;  // work that follows is mostly of the same range
};

}  // namespace gpuprof::derive
