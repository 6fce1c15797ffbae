#include "libprof/compute/intervals/innermost.hpp"

namespace gpuprof::intervals {

std::size_t Innermost::at(std::int64_t time) {
  if (time < last_) throw_out_of_order();
  last_ = time;
  for (; next_ < ranges_.size() && ranges_.begin[next_] <= time; ++next_) {
    if (next_ > 0 && ranges_.begin[next_] < ranges_.begin[next_ - 1]) throw_out_of_order();
    if (ranges_.end[next_] > time) begun_.push_back(next_);
  }
  while (!begun_.empty() && ranges_.end[begun_.back()] <= time) begun_.pop_back();
  return begun_.empty() ? none : begun_.back();
}

}  // namespace gpuprof::intervals
