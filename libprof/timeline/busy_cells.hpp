// Busy time over time, in cells whose width grows with what comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuprof::timeline {

// The union of intervals that come in the order in which they begin, cut into cells of 2^shift ns
// from an origin on. Memory does not depend on how many come: when they would be too many, two
// cells each become one.
class BusyCells {
 public:
  static constexpr std::size_t most_cells = 8192;

  explicit BusyCells(std::int64_t origin) : origin_(origin) {}

  // `begin` is the origin or later.
  void add(std::int64_t begin, std::int64_t end);

  std::uint64_t busy_ns() const { return busy_; }
  unsigned shift() const { return shift_; }
  // Cells as wide as others have them, which are no narrower.
  void widen(unsigned shift);
  // ns in each; those behind the last have none.
  const std::vector<std::uint64_t>& cells() const { return cells_; }

 private:
  std::size_t cell_of(std::int64_t time) const {
    return (static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(origin_)) >> shift_;
  }

  std::int64_t origin_;
  std::int64_t until_ = INT64_MIN;
  std::uint64_t busy_ = 0;
  unsigned shift_ = 6;
  std::vector<std::uint64_t> cells_;
};

}  // namespace gpuprof::timeline
