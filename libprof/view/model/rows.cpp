// Arranges records in rows.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "libprof/view/model/reading.hpp"

namespace gpuprof::view {
namespace {

// Not a function, which algorithms would call through a pointer.
constexpr auto before = [](const Item& a, const Item& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
};

using Iterator = Items::iterator;

// Nearly linear if the records are nearly sorted.
void sort_run(Iterator first, Iterator end) {
  auto moves = 4 * (end - first);
  for (Iterator at = first; at != end; ++at) {
    if (at == first || !before(*at, *(at - 1))) continue;
    const Iterator place = std::upper_bound(first, at, *at, before);
    moves -= at - place;
    if (moves < 0) {
      std::stable_sort(first, end, before);
      return;
    }
    std::rotate(place, at, at + 1);
  }
}

// Records of one table are adjacent.
void sort(Items& items) {
  Iterator sorted = items.begin();
  while (sorted != items.end()) {
    const Iterator end = std::find_if(
        sorted, items.end(), [&](const Item& item) { return item.table != sorted->table; });
    sort_run(sorted, end);
    if (sorted != items.begin()) std::inplace_merge(items.begin(), sorted, end, before);
    sorted = end;
  }
}

}  // namespace

void make_rows(Items& items, Track& track) {
  sort(items);
  timeline::RowChoice choice;
  LargeVector<std::uint8_t> row_of;
  row_of.reserve(items.size());
  std::vector<std::size_t> sizes;
  for (const Item& item : items) {
    const std::size_t row = choice.choose(item.begin, item.end);
    static_assert(timeline::RowChoice::none <= UINT8_MAX);
    row_of.push_back(static_cast<std::uint8_t>(row));
    if (row == timeline::RowChoice::none) {
      ++track.left_out;
      continue;
    }
    if (row == sizes.size()) sizes.push_back(0);
    ++sizes[row];
  }
  std::vector<std::unique_ptr<MemoryRow>> rows;
  for (const std::size_t size : sizes) {
    rows.push_back(std::make_unique<MemoryRow>());
    rows.back()->reserve(size);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (row_of[i] != timeline::RowChoice::none) rows[row_of[i]]->add(items[i]);
  }
  track.records = static_cast<std::int64_t>(items.size());
  items = {};
  for (auto& row : rows) {
    row->finish();
    track.rows.push_back(std::move(row));
  }
}

void make_all_rows(std::vector<RowsJob>& jobs) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++)
      make_rows(*jobs[i].items, *jobs[i].track);
  };
  const std::size_t most = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < std::min(most, jobs.size()); ++i) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace gpuprof::view
