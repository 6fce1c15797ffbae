// Intervals of time as two columns.
//
// An interval is [begin, end) in ns. One whose end is not after its begin is empty and is ignored,
// so rows without times (0, 0) need not be removed. Any int64 is allowed: times come from files.
//
// Algorithms in this folder make one pass over intervals sorted by begin and keep the open ones.
// Unsorted intervals end them with gpuprof::Error, because the result would be wrong. Nothing here
// locks; an object belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libprof/base/error.hpp"

namespace gpuprof::intervals {

// Borrowed. Both have the same length.
struct Columns {
  std::span<const std::int64_t> begin;
  std::span<const std::int64_t> end;

  std::size_t size() const { return begin.size(); }
  bool empty() const { return begin.empty(); }
  Columns part(std::size_t first, std::size_t count) const {
    return {begin.subspan(first, count), end.subspan(first, count)};
  }
};

// Owned.
struct Intervals {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;

  Columns columns() const { return {begin, end}; }
  std::size_t size() const { return begin.size(); }
  void add(std::int64_t from, std::int64_t to) {
    begin.push_back(from);
    end.push_back(to);
  }
  void clear() {
    begin.clear();
    end.clear();
  }
};

// Length of [begin, end), exact for any two values; 0 if empty.
constexpr std::uint64_t length(std::int64_t begin, std::int64_t end) {
  return end > begin ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin) : 0;
}

[[noreturn]] inline void throw_out_of_order() {
  throw Error("intervals are not in the order of their begin");
}

}  // namespace gpuprof::intervals
