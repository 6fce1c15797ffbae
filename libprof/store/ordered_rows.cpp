#include "libprof/store/ordered_rows.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace gpuprof::store {
namespace {

// Rows of a block; some 150 bytes each are in memory while it is open.
constexpr std::uint64_t block_rows = 8192;
constexpr std::uint64_t most_blocks = 4096;  // wider ones in larger tables
constexpr std::size_t most_open = 64;

struct Keys {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();

  bool none() const { return first > last; }
  void add(const Keys& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

}  // namespace

OrderedRows::OrderedRows(Snapshot& snapshot, const Selection& selection, const std::string& key)
    : database_(snapshot.database()),
      selection_(selection),
      key_column_(static_cast<int>(selection.columns.size())) {
  const auto ids = find_row_ids(database_, selection.table);
  if (ids && !ids->none) find_blocks(snapshot, key, *ids);
  if (blocks_.empty()) {
    blocks_.emplace_back();
  } else {
    row_id_ = ids->name;
  }
  selection_.columns.push_back(key);
  order_ = " ORDER BY " + std::to_string(key_column_ + 1) + (ids ? ", " + ids->name : "");
}

// Leaves none if SQLite had better sort the whole table.
void OrderedRows::find_blocks(Snapshot& snapshot, const std::string& key, const RowIds& ids) {
  const auto first = static_cast<std::uint64_t>(ids.first);
  const std::uint64_t width = static_cast<std::uint64_t>(ids.last) - first;
  const std::uint64_t step = std::max(width / most_blocks + 1, block_rows);
  const std::size_t count = width / step + 1;
  if (count == 1) return;

  Selection keys = selection_;
  keys.columns = {ids.name, key};
  std::vector<Keys> keys_of(count);
  for (const auto& part : snapshot.scan<std::vector<Keys>>(
           keys, [first, step, count](std::vector<Keys>&part, Row row) {
             part.resize(count);
             const std::int64_t value = row.integer(1);
             part[(static_cast<std::uint64_t>(row.integer(0)) - first) / step].add({value, value});
           })) {
    for (std::size_t i = 0; i < part.size(); ++i) keys_of[i].add(part[i]);
  }

  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) {
    if (!keys_of[i].none()) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys_of[i].first; });
  // Ends of the blocks that are open at a time.
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends;
  for (const std::size_t i : order) {
    while (!ends.empty() && ends.top() < keys_of[i].first) ends.pop();
    ends.push(keys_of[i].last);
    if (ends.size() > most_open) return blocks_.clear();
    const std::uint64_t begin = i * step;
    const std::uint64_t end = begin + std::min(step - 1, width - begin);
    blocks_.push_back({.first_id = static_cast<std::int64_t>(first + begin),
                       .last_id = static_cast<std::int64_t>(first + end),
                       .first_key = keys_of[i].first});
  }
}

bool OrderedRows::step() {
  if (started_ && open_.empty()) return false;
  if (started_) {
    std::ranges::pop_heap(open_, later);
    OpenBlock& block = open_.back();
    if (block.rows.step()) {
      block.key = block.rows.integer(key_column_);
      std::ranges::push_heap(open_, later);
    } else {
      block.rows.reset();
      spare_.push_back(std::move(block.rows));
      open_.pop_back();
    }
  }
  started_ = true;
  // Rows of equal keys go by their ids, so blocks that begin with that key must be open too.
  while (next_ < blocks_.size() &&
         (open_.empty() || blocks_[next_].first_key <= open_.front().key)) {
    open(blocks_[next_++]);
  }
  return !open_.empty();
}

void OrderedRows::open(const Block& block) {
  if (spare_.empty()) {
    spare_.push_back(select(database_, selection_, row_id_, order_));
  }
  OpenBlock opened{.first_id = block.first_id, .rows = std::move(spare_.back())};
  spare_.pop_back();
  if (!row_id_.empty()) bind_row_ids(opened.rows, block.first_id, block.last_id);
  if (!opened.rows.step()) return;
  opened.key = opened.rows.integer(key_column_);
  open_.push_back(std::move(opened));
  std::ranges::push_heap(open_, later);
}

bool OrderedRows::later(const OpenBlock& a, const OpenBlock& b) {
  return a.key != b.key ? a.key > b.key : a.first_id > b.first_id;
}

}  // namespace gpuprof::store
