#include "libprof/collect/user_ranges.hpp"

namespace gpuprof::collect {

bool OpenRanges::begin() {
  if (open() != 0) return false;
  open_.store(++seen_);
  return true;
}

bool OpenRanges::end() { return open_.exchange(0) != 0; }

bool OpenRanges::push(std::thread::id thread, bool wanted) {
  const bool measured = wanted && begin();
  pushed_[thread].push_back(measured);
  return measured;
}

bool OpenRanges::pop(std::thread::id thread) {
  std::vector<bool>& open = pushed_[thread];
  if (open.empty()) return false;
  const bool measured = open.back();
  open.pop_back();
  return measured && end();
}

}  // namespace gpuprof::collect
