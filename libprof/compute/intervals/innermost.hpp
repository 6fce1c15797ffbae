// Finds the range in which something happened.
#pragma once

#include <limits>

#include "libprof/compute/intervals/intervals.hpp"

namespace gpuprof::intervals {

// The innermost range open at a time: of the open ranges, the one opened last. For the ranges of
// one thread, which nest, that is the usual meaning; for ranges across threads or with ids, which
// need not nest, it is the definition. A range is open from its begin until just before its end;
// one that was never closed has the end INT64_MAX.
//
// A single pass over ranges and times together, however many of each: use a separate sweep for each
// thread or process. The ranges are sorted; of those that begin together the outer one comes first.
// They must outlive the sweep, which uses at most 8 bytes per range.
class Innermost {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  explicit Innermost(Columns ranges) : ranges_(ranges) {}

  // Returns the range's index, or `none`. Times must not decrease between calls.
  std::size_t at(std::int64_t time);

 private:
  Columns ranges_;
  std::size_t next_ = 0;
  std::int64_t last_ = INT64_MIN;
  // Ranges that have begun, the latest on top. One that has ended is removed when it reaches the
  // top.
  std::vector<std::size_t> begun_;
};

}  // namespace gpuprof::intervals
