// Which calls are near periods that matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libprof/base/time_spans.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: some bytes per period.
class NearTimes {
 public:
  void add(const TimeSpan& time) {
    times_.push_back(time);
    is_united_ = false;
    latest_ = 0;
  }
  // Whether one of the periods has not ended at `begin` and has begun at `end`. Takes least time
  // for calls that are nearly in order.
  bool have(std::int64_t begin, std::int64_t end) {
    if (!is_united_) unite(times_);
    is_united_ = true;
    latest_ = first_after(std::span(times_), begin, latest_);
    return latest_ < times_.size() && times_[latest_].begin <= end;
  }

 private:
  std::vector<TimeSpan> times_;
  bool is_united_ = false;
  std::size_t latest_ = 0;
};

}  // namespace gpuprof::compute
