#include "libprof/compute/intervals/merged.hpp"

#include <algorithm>

namespace gpuprof::intervals {

Merged::Merged(const std::vector<IntervalSource*>& sources) {
  for (IntervalSource* source : sources) {
    const Columns chunk = source->next();
    if (!chunk.empty()) fronts_.push_back({source, chunk, 0});
  }
  std::ranges::make_heap(fronts_, later);
}

Columns Merged::next() {
  out_.clear();
  while (!fronts_.empty() && out_.size() < chunk_size) {
    std::ranges::pop_heap(fronts_, later);
    Front& front = fronts_.back();
    // It stays out of the heap as long as it comes before the others.
    const std::int64_t limit = fronts_.size() > 1 ? fronts_.front().begin() : INT64_MAX;
    do {
      const std::int64_t begin = front.begin();
      out_.add(begin, front.end());
      if (++front.at == front.chunk.size()) {
        front.chunk = front.source->next();
        front.at = 0;
        if (front.chunk.empty()) break;
      }
      if (front.begin() < begin) throw_out_of_order();
    } while (front.begin() <= limit && out_.size() < chunk_size);
    if (front.chunk.empty()) {
      fronts_.pop_back();
    } else {
      std::ranges::push_heap(fronts_, later);
    }
  }
  return out_.columns();
}

}  // namespace gpuprof::intervals
