#include "libprof/compute/intervals/intervals.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof::intervals {

void Intervals::add(Columns more) {
  begin.insert(begin.end(), more.begin.begin(), more.begin.end());
  end.insert(end.end(), more.end.begin(), more.end.end());
}

void Intervals::clear() {
  begin.clear();
  end.clear();
}

void sort(Intervals& intervals) {
  if (std::ranges::is_sorted(intervals.begin)) return;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs(intervals.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {intervals.begin[i], intervals.end[i]};
  std::ranges::sort(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    intervals.begin[i] = pairs[i].first;
    intervals.end[i] = pairs[i].second;
  }
}

void throw_out_of_order() { throw Error("intervals are not in the order of their begin"); }

Columns InMemory::next() {
  const std::size_t count = std::min(chunk_, rest_.size());
  const Columns chunk = rest_.part(0, count);
  rest_ = rest_.part(count, rest_.size() - count);
  return chunk;
}

Intervals collect(IntervalSource& source) {
  Intervals all;
  for (Columns chunk = source.next(); !chunk.empty(); chunk = source.next()) all.add(chunk);
  return all;
}

}  // namespace gpuprof::intervals
