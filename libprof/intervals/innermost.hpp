// Which range something happened in.
#pragma once

#include <limits>

#include "libprof/intervals/intervals.hpp"

namespace gpuprof::intervals {

// The innermost range that is open at a time: of those that are open, the one that was opened last.
// For the ranges of one thread, which nest, that is the usual meaning; for ranges of several
// threads or with ids, which need not nest, it is the definition. A range is open from its begin
// until before its end; one that was never closed has the end INT64_MAX.
//
// One pass over ranges and times together, whatever the number of either: give each thread or
// process a sweep of its own. The ranges are in order; of those that begin together the outer comes
// first. They must outlive the sweep, which takes 8 bytes per range at most.
class Innermost {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  explicit Innermost(Columns ranges) : ranges_(ranges) {}

  // Index of the range. Times may not decrease from call to call.
  std::size_t at(std::int64_t time);

 private:
  Columns ranges_;
  std::size_t next_ = 0;
  std::int64_t last_ = INT64_MIN;
  // Those that have begun, the last on top. One that has ended leaves when it comes to the top.
  std::vector<std::size_t> begun_;
};

}  // namespace gpuprof::intervals
