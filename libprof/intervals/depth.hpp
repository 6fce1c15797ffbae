// How many intervals are open at a time.
#pragma once

#include "libprof/intervals/intervals.hpp"

namespace gpuprof::intervals {

// From time[i] on `open[i]` are open. Before the first step none is, nor after the last.
struct Steps {
  std::span<const std::int64_t> time;
  std::span<const std::int64_t> open;

  std::size_t size() const { return time.size(); }
  bool empty() const { return time.empty(); }
};

// Kernels that run at a time are the depth of (start, end); with the busy time of each stream
// (Merged, of a Union for each) it is the streams at work. What was launched and has not begun, the
// length of the queue, is the depth of (end of the call, start on the GPU).
//
// Memory: 8 bytes for each that is open.
class Depth {
 public:
  explicit Depth(Source& source) : source_(source) {}
  // In the order of time, each with another depth than the one before; good until the next call. An
  // empty answer is the end.
  Steps next();

 private:
  void close_until(std::int64_t time);
  void note(std::int64_t time);

  Source& source_;
  bool ended_ = false;
  std::int64_t last_ = INT64_MIN;
  std::vector<std::int64_t> ends_;  // of the open ones: a heap, the earliest on top
  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> open_;
  // The last step, which others at the same time may change; none yet: not noted_.
  bool noted_ = false;
  std::int64_t time_ = 0;
  std::int64_t depth_ = 0;
  std::int64_t told_ = 0;  // the depth of the last step that was given out
};

// How long each depth lasted, ns, by depth; [0] is the time between the first begin and the last
// end in which none was open. The sum of depth times length over the span is the mean.
std::vector<std::int64_t> time_at_depth(Depth& depth);

}  // namespace gpuprof::intervals
