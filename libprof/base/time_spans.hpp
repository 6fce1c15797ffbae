// Periods with a `begin` and an `end`, in vectors: any type that has both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuprof {

struct TimeSpan {
  std::int64_t begin = 0, end = 0;  // ns

  std::int64_t length() const { return end > begin ? end - begin : 0; }
};

// Puts them in order, and makes one of those that touch or overlap: of its first, whose end moves.
template <class Span>
void unite(std::vector<Span>& spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::size_t kept = 0;
  for (const Span& span : spans) {
    if (kept > 0 && span.begin <= spans[kept - 1].end) {
      spans[kept - 1].end = std::max(spans[kept - 1].end, span.end);
    } else {
      spans[kept++] = span;
    }
  }
  spans.resize(kept);
}

// The place of the first that has not ended at that time, of those in order and apart. `guess`: the
// place found last, which is right for most times that are nearly in order.
template <class Span>
std::size_t first_after(std::span<Span> spans, std::int64_t time, std::size_t guess) {
  const bool is_it = (guess == 0 || spans[guess - 1].end <= time) &&
                     (guess == spans.size() || spans[guess].end > time);
  if (is_it) return guess;
  const auto found = std::ranges::upper_bound(spans, time, {}, &Span::end);
  return static_cast<std::size_t>(found - spans.begin());
}

}  // namespace gpuprof
