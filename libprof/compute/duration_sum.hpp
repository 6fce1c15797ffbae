// Summary of many durations: sum, minimum and maximum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "libprof/base/saturating.hpp"

namespace gpuprof::compute {

struct DurationSum {
  std::int64_t timed = 0;  // number of durations
  std::int64_t total = 0;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = std::numeric_limits<std::int64_t>::min();

  void add(std::int64_t duration) {
    ++timed;
    total = saturating_add(total, duration);
    shortest = std::min(shortest, duration);
    longest = std::max(longest, duration);
  }
};

}  // namespace gpuprof::compute
