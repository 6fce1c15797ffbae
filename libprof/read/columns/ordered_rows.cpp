#include "libprof/read/columns/ordered_rows.hpp"

#include <algorithm>
#include <limits>

namespace gpuprof::columns {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace

OrderedRows::OrderedRows(store::Snapshot& snapshot, Request request, Ties ties,
                         std::vector<std::string> looked_at,
                         const std::function<void(const Chunk&)>& look)
    : width_(request.columns.size()), ties_(ties) {
  reader_.emplace(snapshot, request);
  cursor_.emplace(*reader_);
  if (looked_at.empty()) looked_at.assign(request.columns.begin(), request.columns.begin() + 2);
  look_through(snapshot, request, looked_at, look);
}

void OrderedRows::look_through(store::Snapshot& snapshot, const Request& request,
                               const std::vector<std::string>& columns,
                               const std::function<void(const Chunk&)>& look) {
  Request first = request;
  first.columns = columns;
  Reader reader(snapshot, first);
  Reader::Cursor cursor(reader);
  std::vector<std::int64_t> latest;  // begin of a block's rows
  std::size_t rows = 0;
  while (const Chunk* chunk = cursor.next()) {
    if (look) look(*chunk);
    for (std::size_t i = 0; i < chunk->rows(); ++i, ++rows) {
      if (rows % block == 0) {
        least_.push_back(never);
        latest.push_back(0);
      }
      const std::int64_t begin = whole((*chunk)[0], i);
      if (!has_times(begin, whole((*chunk)[1], i))) continue;
      least_.back() = std::min(least_.back(), begin);
      latest.back() = std::max(latest.back(), begin);
    }
  }
  for (std::size_t i = least_.size(); i-- > 1;) least_[i - 1] = std::min(least_[i - 1], least_[i]);
  // Rows of a block wait while a later one begins before them.
  std::size_t oldest = 0;
  std::int64_t so_far = 0;
  std::vector<std::int64_t> latest_so_far;
  for (const std::int64_t one : latest) latest_so_far.push_back(so_far = std::max(so_far, one));
  for (std::size_t i = 0; i < least_.size(); ++i) {
    const std::int64_t next = i + 1 < least_.size() ? least_[i + 1] : never;
    while (oldest <= i && latest_so_far[oldest] < next) ++oldest;
    most_waiting_ = std::max(most_waiting_, (i + 1 - std::min(oldest, i + 1)) * block);
  }
}

// Minimum begin of all rows from `row` on.
std::int64_t OrderedRows::least_behind(std::size_t row) const {
  return row / block < least_.size() ? least_[row / block] : never;
}

bool OrderedRows::next() {
  if (!reader_) return sorted_.step();
  if (std::exchange(begun_, true) && at_ < complete_) ++at_;
  while (at_ == complete_) {
    if (!read_more()) return false;
  }
  return true;
}

// False: no more rows.
bool OrderedRows::read_more() {
  if (all_read_) return false;
  drop_done();
  const std::size_t waiting = keys_.size();
  // Reads half as much again as is waiting, so that each row is moved only a few times.
  while (!all_read_ && keys_.size() <= waiting + waiting / 2 + block) {
    const Chunk* chunk = cursor_->next();
    chunk ? add(*chunk) : void(all_read_ = true);
  }
  const auto by_time = [outer_first = ties_ == Ties::outer_first](const Key& a, const Key& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return outer_first && a.end != b.end ? a.end > b.end : a.row < b.row;
  };
  const auto fresh = keys_.begin() + static_cast<std::ptrdiff_t>(waiting);
  std::sort(fresh, keys_.end(), by_time);
  std::inplace_merge(keys_.begin(), fresh, keys_.end(), by_time);
  const auto later =
      std::ranges::lower_bound(keys_, least_behind(read_), {}, &Key::begin) - keys_.begin();
  complete_ = all_read_ ? keys_.size() : static_cast<std::size_t>(later);
  return true;
}

void OrderedRows::add(const Chunk& chunk) {
  for (std::size_t i = 0; i < chunk.rows(); ++i) {
    const std::int64_t begin = whole(chunk[0], i), end = whole(chunk[1], i);
    if (!has_times(begin, end)) continue;
    keys_.push_back({begin, end, values_.size()});
    std::uint64_t nulls = 0;
    for (std::size_t column = 0; column < width_; ++column) {
      values_.push_back(whole(chunk[column], i));
      if (chunk[column].is_null(i)) nulls |= std::uint64_t{1} << column;
    }
    values_.push_back(static_cast<std::int64_t>(nulls));
  }
  read_ += chunk.rows();
}

// Drops the rows that are done and keeps the waiting ones, in key order.
void OrderedRows::drop_done() {
  keys_.erase(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(at_));
  kept_.clear();
  for (Key& key : keys_) {
    const auto first =
        values_.begin() + static_cast<std::ptrdiff_t>(std::exchange(key.row, kept_.size()));
    kept_.insert(kept_.end(), first, first + static_cast<std::ptrdiff_t>(width_ + 1));
  }
  values_.swap(kept_);
  at_ = complete_ = 0;
}

}  // namespace gpuprof::columns
