// Percentiles, computed the same way wherever they are reported: values that occurred, by nearest
// rank. The median of an even number of values is the mean of the two in the middle, rounded down.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gpuprof {

// `at(place)` returns the value at an index of the sorted values, from 0; `count` is positive.
template <class At>
std::int64_t percentile(std::size_t count, int percent, At&& at) {
  const auto part = static_cast<std::size_t>(percent);
  // count * percent / 100, rounded up, without overflow.
  return at(count / 100 * part + (count % 100 * part + 99) / 100 - 1);
}

template <class At>
std::int64_t median(std::size_t count, At&& at) {
  const std::int64_t middle = at(count / 2);
  return count % 2 == 1 ? middle : std::midpoint(at(count / 2 - 1), middle);
}

// The value at an index of the sorted order. Reorders the values.
inline std::int64_t at_place(std::vector<std::int64_t>& values, std::size_t place) {
  const auto there = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, there);
  return *there;
}

}  // namespace gpuprof
