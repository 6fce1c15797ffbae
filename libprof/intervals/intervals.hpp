// Intervals of time as two columns, and where they come from.
//
// An interval is [begin, end) in ns. One whose end is not after its begin is empty and counts for
// nothing, so rows without times (0, 0) may stay among the others. Any int64 is allowed: times come
// out of files.
//
// What this folder computes takes one pass over intervals that are ordered by begin, a chunk at a
// time, and keeps from chunk to chunk what is still open. Intervals out of order end it with
// gpuprof::Error: the answer would be wrong. Nothing here has a lock; an object belongs to one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuprof::intervals {

// Borrowed. Both are of the same length.
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
  void add(Columns more);
  void clear();
};

// By begin. Columns that are in order already are left alone, after one look at each.
void sort(Intervals& intervals);

// Length of [begin, end), exact for any two values; 0 if it is empty.
constexpr std::uint64_t length(std::int64_t begin, std::int64_t end) {
  return end > begin ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin) : 0;
}

// A sum of lengths as a signed number; what does not fit is the largest one.
constexpr std::int64_t signed_length(std::uint64_t ns) {
  return ns > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(ns);
}

// Throws Error.
[[noreturn]] void throw_out_of_order();

// Chunks of intervals, in order. "Disjoint" means besides that none is empty and none begins before
// the one in front of it ended, as a Union gives them.
class Source {
 public:
  virtual ~Source() = default;
  // Good until the next call. An empty chunk is the end, and so is each after it.
  virtual Columns next() = 0;
};

constexpr std::size_t chunk_size = 1 << 14;  // both columns of it stay in a second-level cache

// Intervals that are in memory. They must outlive it.
class InMemory final : public Source {
 public:
  explicit InMemory(Columns all, std::size_t chunk = chunk_size) : rest_(all), chunk_(chunk) {}
  Columns next() override;

 private:
  Columns rest_;
  std::size_t chunk_;
};

// All that is left of it.
Intervals collect(Source& source);

}  // namespace gpuprof::intervals
