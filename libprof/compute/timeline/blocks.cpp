#include "libprof/compute/timeline/blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "libprof/base/error.hpp"

namespace gpuprof::timeline {
namespace {

// Space for a row's data in a 4096-byte page, after SQLite's overhead.
constexpr std::size_t most_bytes = 4040;
constexpr std::size_t most_items = 4000;
constexpr std::size_t columns = 5;
// The number of records; per column the minimum and the width of a number.
constexpr std::size_t head_bytes = 2 + columns * 9;

std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

template <class Number>
void put(Number number, std::vector<std::byte>& bytes) {
  static_assert(std::endian::native == std::endian::little && std::is_trivially_copyable_v<Number>);
  const auto* first = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), first, first + sizeof number);
}

template <class Number>
void take(Number& number, const std::byte*& bytes) {
  std::memcpy(&number, bytes, sizeof number);
  bytes += sizeof number;
}

// Calls visit(member) for each member, in byte order.
template <class Info, class Visit>
void for_each_member(Info& info, const Visit& visit) {
  visit(info.begin);
  visit(info.end);
  visit(info.busy);
  visit(info.longest);
  visit(info.longest_name);
  visit(info.id);
  visit(info.count);
  visit(info.longest_place);
}

constexpr std::size_t info_bytes = 4 * 8 + 2 * 4 + 2 * 2;

}  // namespace

void append(const BlockInfo& info, std::vector<std::byte>& index) {
  for_each_member(info, [&](auto number) { put(number, index); });
}

std::optional<std::vector<BlockInfo>> read_index(std::span<const std::byte> index) {
  if (index.size() % info_bytes != 0) return std::nullopt;
  std::vector<BlockInfo> blocks(index.size() / info_bytes);
  const std::byte* at = index.data();
  std::int64_t before = 0;
  for (BlockInfo& info : blocks) {
    for_each_member(info, [&](auto& number) { take(number, at); });
    if (info.begin < before || info.end < info.begin || info.end == INT64_MAX || info.count == 0 ||
        info.longest_place >= info.count || info.busy > distance(info.begin, info.end) ||
        info.longest > info.busy) {
      return std::nullopt;
    }
    before = info.end;
  }
  return blocks;
}

void BlockBuilder::Range::take(std::uint64_t value) {
  least = std::min(least, value);
  most = std::max(most, value);
}

std::size_t BlockBuilder::Range::width() const {
  return (static_cast<std::size_t>(std::bit_width(most - least)) + 7) / 8;
}

bool BlockBuilder::add(const Item& item) {
  auto ranges = ranges_;
  ranges[0].take(items_.empty() ? 0 : distance(items_.back().end, item.begin));
  ranges[1].take(distance(item.begin, item.end));
  ranges[2].take(static_cast<std::uint64_t>(item.id));
  ranges[3].take(item.name);
  ranges[4].take(item.table);
  std::size_t width = 0;
  for (const Range& range : ranges) width += range.width();
  const std::size_t count = items_.size() + 1;
  if (count > most_items || head_bytes + count * width > most_bytes) return false;
  ranges_ = ranges;
  items_.push_back(item);
  return true;
}

BlockInfo BlockBuilder::finish(std::vector<std::byte>& block) {
  BlockInfo info{.begin = items_.front().begin, .end = items_.back().end};
  info.count = static_cast<std::uint16_t>(items_.size());
  block.clear();
  put(info.count, block);
  for (const Range& range : ranges_) {
    put(range.least, block);
    put(static_cast<std::uint8_t>(range.width()), block);
  }
  const auto put_column = [&](std::size_t column, const auto& value_of) {
    const Range& range = ranges_[column];
    const std::size_t width = range.width();
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const std::uint64_t value = value_of(i) - range.least;
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      block.insert(block.end(), bytes, bytes + width);
    }
  };
  put_column(
      0, [&](std::size_t i) { return i == 0 ? 0 : distance(items_[i - 1].end, items_[i].begin); });
  put_column(1, [&](std::size_t i) { return distance(items_[i].begin, items_[i].end); });
  put_column(2, [&](std::size_t i) { return static_cast<std::uint64_t>(items_[i].id); });
  put_column(3, [&](std::size_t i) { return std::uint64_t{items_[i].name}; });
  put_column(4, [&](std::size_t i) { return std::uint64_t{items_[i].table}; });
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::uint64_t length = distance(items_[i].begin, items_[i].end);
    info.busy += length;
    if (i > 0 && length <= info.longest) continue;
    info.longest = length;
    info.longest_name = items_[i].name;
    info.longest_place = static_cast<std::uint16_t>(i);
  }
  items_.clear();
  ranges_ = {};
  return info;
}

std::optional<Block> Block::read(std::span<const std::byte> bytes, const BlockInfo& info) {
  if (bytes.size() < head_bytes) return std::nullopt;
  const std::byte* at = bytes.data();
  std::uint16_t count = 0;
  take(count, at);
  if (count != info.count) return std::nullopt;
  Block block;
  block.count_ = count;
  std::size_t needed = head_bytes;
  for (Column& column : block.columns_) {
    std::uint8_t width = 0;
    take(column.least, at);
    take(width, at);
    if (width > 8) return std::nullopt;
    column.width = width;
    column.mask = width == 0 ? 0 : UINT64_MAX >> (64 - 8 * width);
    column.bytes = bytes.data() + needed;
    needed += width * block.count_;
    if (needed > bytes.size()) return std::nullopt;
  }
  return block;
}

std::uint64_t Block::value(std::size_t column, std::size_t place) const {
  const Column& its = columns_[column];
  std::uint64_t number = 0;
  std::memcpy(&number, its.bytes + place * its.width, sizeof number);
  return (number & its.mask) + its.least;
}

bool Block::times(const BlockInfo& info, std::vector<std::int64_t>& begin,
                  std::vector<std::int64_t>& end) const {
  begin.resize(count_);
  end.resize(count_);
  auto time = static_cast<std::uint64_t>(info.begin);
  const auto last = static_cast<std::uint64_t>(info.end);
  bool good = value(0, 0) == 0;
  for (std::size_t i = 0; i < count_; ++i) {
    // A sum that wraps around is less than its addend.
    const std::uint64_t starts = time + value(0, i), stops = starts + value(1, i);
    good &= starts >= time && stops >= starts && stops <= last;
    begin[i] = static_cast<std::int64_t>(starts);
    end[i] = static_cast<std::int64_t>(stops);
    time = stops;
  }
  return good && time == last;
}

}  // namespace gpuprof::timeline
