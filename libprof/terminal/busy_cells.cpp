#include "libprof/terminal/busy_cells.hpp"

#include <algorithm>

namespace gpuprof::terminal {

void BusyCells::add(std::int64_t begin, std::int64_t end) {
  begin = std::max(begin, until_);
  if (end <= begin) return;
  until_ = end;
  const std::uint64_t origin = static_cast<std::uint64_t>(origin_);
  std::uint64_t from = static_cast<std::uint64_t>(begin) - origin;
  const std::uint64_t to = static_cast<std::uint64_t>(end) - origin;
  busy_ += to - from;
  while (cell_of(end - 1) >= most_cells) widen(shift_ + 1);
  const std::size_t last = cell_of(end - 1);
  if (cells_.size() <= last) cells_.resize(last + 1);
  for (std::size_t cell = cell_of(begin); cell < last; ++cell) {
    const std::uint64_t next = (std::uint64_t{cell} + 1) << shift_;
    cells_[cell] += next - from;
    from = next;
  }
  cells_[last] += to - from;
}

void BusyCells::widen(unsigned shift) {
  for (; shift_ < shift; ++shift_) {
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      if (cell % 2 == 0) {
        cells_[cell / 2] = cells_[cell];
      } else {
        cells_[cell / 2] += cells_[cell];
      }
    }
    cells_.resize((cells_.size() + 1) / 2);
  }
}

}  // namespace gpuprof::terminal
