// How many intervals are open at a time.
#pragma once

#include "libprof/compute/intervals/intervals.hpp"

namespace gpuprof::intervals {

// From time[i] on, `open[i]` are open. None is open before the first step or after the last.
struct Steps {
  std::span<const std::int64_t> time;
  std::span<const std::int64_t> open;

  std::size_t size() const { return time.size(); }
  bool empty() const { return time.empty(); }
};

// The depth of (start, end) is the number of concurrent kernels; applied to the busy time of each
// stream (a Merged of one Union each), the number of active streams. The depth of (end of the call,
// start on the GPU) is the length of the queue: work launched but not begun.
//
// Memory: 8 bytes per open interval.
class Depth {
 public:
  explicit Depth(IntervalSource& source) : source_(source) {}
  // In time order, each with a different depth than the one before; valid until the next call. An
  // empty result is the end.
  Steps next();

 private:
  void close_until(std::int64_t time);
  void note(std::int64_t time);

  IntervalSource& source_;
  bool ended_ = false;
  std::int64_t last_ = INT64_MIN;
  std::vector<std::int64_t> ends_;  // of the open ones, a min-heap
  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> open_;
  // The last step, which may still change at the same time; none yet: not noted_.
  bool noted_ = false;
  std::int64_t time_ = 0;
  std::int64_t depth_ = 0;
  std::int64_t told_ = 0;  // depth of the last step returned
};

// Total time at each depth, ns; [0] is the time between the first begin and the last end with none
// open. The sum of depth times length over the span is the mean.
std::vector<std::int64_t> time_at_depth(Depth& depth);

}  // namespace gpuprof::intervals
