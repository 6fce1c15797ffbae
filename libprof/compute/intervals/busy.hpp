// How long something was busy: the length of the union of intervals, not their sum.
#pragma once

#include <algorithm>

#include "libprof/compute/intervals/intervals.hpp"

namespace gpuprof::intervals {

// For one unit (a device, a range, a stream), fed one interval at a time; only 32 bytes, so there
// can be very many.
class Busy {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    if (begin < last_) throw_out_of_order();
    last_ = begin;
    if (end <= begin) return;
    if (until_ == INT64_MIN) first_ = begin;
    ns_ += length(std::max(begin, until_), end);
    until_ = std::max(until_, end);
  }

  std::int64_t ns() const {  // clamped to INT64_MAX
    return ns_ > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(ns_);
  }
  // The first begin and the last end; only after an interval that is not empty.
  std::int64_t first() const { return first_; }
  std::int64_t until() const { return until_; }

 private:
  std::uint64_t ns_ = 0;
  std::int64_t last_ = INT64_MIN;
  std::int64_t first_ = 0;
  std::int64_t until_ = INT64_MIN;
};

}  // namespace gpuprof::intervals
