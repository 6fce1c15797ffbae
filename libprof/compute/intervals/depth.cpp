#include "libprof/compute/intervals/depth.hpp"

#include <algorithm>
#include <functional>

namespace gpuprof::intervals {

void Depth::note(std::int64_t time) {
  if (noted_ && time != time_ && depth_ != told_) {
    times_.push_back(time_);
    open_.push_back(depth_);
    told_ = depth_;
  }
  noted_ = true;
  time_ = time;
  depth_ = static_cast<std::int64_t>(ends_.size());
}

void Depth::close_until(std::int64_t time) {
  while (!ends_.empty() && ends_.front() <= time) {
    const std::int64_t end = ends_.front();
    std::ranges::pop_heap(ends_, std::greater<>());
    ends_.pop_back();
    note(end);
  }
}

Steps Depth::next() {
  times_.clear();
  open_.clear();
  while (times_.empty() && !ended_) {
    const Columns chunk = source_.next();
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const std::int64_t begin = chunk.begin[i];
      if (begin < last_) throw_out_of_order();
      last_ = begin;
      if (chunk.end[i] <= begin) continue;
      close_until(begin);
      ends_.push_back(chunk.end[i]);
      std::ranges::push_heap(ends_, std::greater<>());
      note(begin);
    }
    if (!chunk.empty()) continue;
    ended_ = true;
    close_until(INT64_MAX);
    if (depth_ != told_) {  // the very last step
      times_.push_back(time_);
      open_.push_back(depth_);
    }
  }
  return {times_, open_};
}

std::vector<std::int64_t> time_at_depth(Depth& depth) {
  std::vector<std::uint64_t> sums;
  std::int64_t since = 0;
  std::size_t open = 0;
  bool first = true;
  for (Steps steps = depth.next(); !steps.empty(); steps = depth.next()) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!first) sums[open] += length(since, steps.time[i]);
      first = false;
      since = steps.time[i];
      open = static_cast<std::size_t>(steps.open[i]);
      if (open >= sums.size()) sums.resize(open + 1);
    }
  }
  std::vector<std::int64_t> result;
  for (const std::uint64_t sum : sums) result.push_back(signed_length(sum));
  return result;
}

}  // namespace gpuprof::intervals
