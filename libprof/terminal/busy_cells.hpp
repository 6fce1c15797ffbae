// Busy time over time, in cells whose width grows with the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuprof::terminal {

// The union of intervals added in begin order, divided into cells of 2^shift ns starting at an
// origin. Memory does not depend on the number of intervals: when there would be too many cells,
// pairs of cells are merged.
class BusyCells {
 public:
  static constexpr std::size_t most_cells = 8192;

  explicit BusyCells(std::int64_t origin) : origin_(origin) {}

  // `begin` must not be before the origin.
  void add(std::int64_t begin, std::int64_t end);

  std::uint64_t busy_ns() const { return busy_; }
  unsigned shift() const { return shift_; }
  // Widens the cells to match another object's; `shift` must not be smaller.
  void widen(unsigned shift);
  // ns in each; cells past the last have none.
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

}  // namespace gpuprof::terminal
