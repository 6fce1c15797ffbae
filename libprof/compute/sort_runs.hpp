// Sorting what comes as a few ordered sequences mixed with one another: the rows of several
// streams, threads or processes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace gpuprof::compute {

// Stable. Divides the items into the fewest ordered piles and merges these, which takes a fraction
// of the time of std::stable_sort; with too many piles it does what that does. Memory: a second
// copy of the items.
template <class Item>
void sort_runs(std::span<Item> items) {
  constexpr std::size_t most_piles = 16;
  if (std::is_sorted(items.begin(), items.end())) return;
  // Each item goes onto the first pile that stays in order. So the last items of the piles descend,
  // and of equal items an earlier one is on the same pile or on one before.
  const auto pile_of = std::make_unique_for_overwrite<std::uint8_t[]>(items.size());
  std::array<const Item*, most_piles> last{};
  std::array<std::size_t, most_piles + 1> begin{};  // of each pile, at first its number of items
  std::size_t piles = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::size_t pile = 0;
    while (pile < piles && items[i] < *last[pile]) ++pile;
    if (pile == most_piles) return std::stable_sort(items.begin(), items.end());
    if (pile == piles) ++piles;
    last[pile] = &items[i];
    pile_of[i] = static_cast<std::uint8_t>(pile);
    ++begin[pile + 1];
  }
  for (std::size_t pile = 0; pile < piles; ++pile) begin[pile + 1] += begin[pile];
  const auto copy = std::make_unique_for_overwrite<Item[]>(items.size());
  auto next = begin;
  for (std::size_t i = 0; i < items.size(); ++i) copy[next[pile_of[i]]++] = items[i];
  // Merges neighbours, from one place to the other and back.
  Item *from = copy.get(), *to = items.data();
  for (; piles > 1; piles = (piles + 1) / 2, std::swap(from, to)) {
    for (std::size_t pile = 0; pile < piles; pile += 2) {
      const std::size_t first = begin[pile], middle = begin[pile + 1],
                        end = begin[std::min(pile + 2, piles)];
      std::merge(from + first, from + middle, from + middle, from + end, to + first);
      begin[pile / 2] = first;
    }
    begin[(piles + 1) / 2] = items.size();
  }
  if (from != items.data()) std::copy(from, from + items.size(), items.data());
}

}  // namespace gpuprof::compute
