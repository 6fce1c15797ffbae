// Intervals of time as two columns, and their sources.
//
// An interval is [begin, end) in ns. One whose end is not after its begin is empty and is ignored,
// so rows without times (0, 0) need not be removed. Any int64 is allowed: times come from files.
//
// Algorithms in this folder make one pass over intervals sorted by begin, chunk by chunk, and keep
// the open ones between chunks. Unsorted intervals end them with gpuprof::Error, because the result
// would be wrong. Nothing here locks; an object belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
  void add(Columns more);
  void clear();
};

// Sorts by begin. Sorted columns are only checked and left alone.
void sort(Intervals& intervals);

// Length of [begin, end), exact for any two values; 0 if empty.
constexpr std::uint64_t length(std::int64_t begin, std::int64_t end) {
  return end > begin ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin) : 0;
}

// A sum of lengths as a signed number, clamped to INT64_MAX.
constexpr std::int64_t signed_length(std::uint64_t ns) {
  return ns > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(ns);
}

// Throws Error.
[[noreturn]] void throw_out_of_order();

// Chunks of intervals, in order. "Disjoint" also means that none is empty and none begins before
// the previous one ended, as from a Union.
class IntervalSource {
 public:
  virtual ~IntervalSource() = default;
  // Valid until the next call. An empty chunk is the end, and all later ones are empty too.
  virtual Columns next() = 0;
};

constexpr std::size_t chunk_size = 1 << 14;  // both columns fit in a second-level cache

// Intervals in memory, which must outlive it.
class InMemory final : public IntervalSource {
 public:
  explicit InMemory(Columns all, std::size_t chunk = chunk_size) : rest_(all), chunk_(chunk) {}
  Columns next() override;

 private:
  Columns rest_;
  std::size_t chunk_;
};

// All remaining intervals.
Intervals collect(IntervalSource& source);

}  // namespace gpuprof::intervals
