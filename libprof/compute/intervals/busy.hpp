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
  void add(Columns chunk);

  std::int64_t ns() const { return signed_length(ns_); }
  bool ever() const { return until_ != INT64_MIN; }  // has had a non-empty interval
  std::int64_t first() const { return first_; }      // the first begin; only if ever()
  std::int64_t until() const { return until_; }      // the last end; only if ever()

 private:
  std::uint64_t ns_ = 0;
  std::int64_t last_ = INT64_MIN;
  std::int64_t first_ = 0;
  std::int64_t until_ = INT64_MIN;
};

// The length of the union of all intervals.
std::int64_t busy(IntervalSource& source);

// Busy time in each of `count` windows of equal width: [first, first + width), and so on.
std::vector<std::int64_t> busy_per_window(IntervalSource& disjoint, std::int64_t first,
                                          std::int64_t width, std::size_t count);

// Busy time in each of the windows, which may be unordered, overlap and nest. Memory: 32 bytes per
// window.
std::vector<std::int64_t> busy_within(IntervalSource& disjoint, Columns windows);

}  // namespace gpuprof::intervals
