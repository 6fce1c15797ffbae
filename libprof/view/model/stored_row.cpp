#include "libprof/view/model/stored_row.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof::view {
namespace {

using timeline::BlockInfo;

[[noreturn]] void throw_damaged() {
  throw Error("the timeline in the file is damaged or of another state of it",
              "gpuprof finish rebuilds it");
}

}  // namespace

BlockFile::BlockFile(store::Database database, std::vector<std::uint32_t> names,
                     std::vector<std::uint8_t> tables)
    : database_(std::move(database)),
      select_(database_.prepare("SELECT records FROM main.TIMELINE_BLOCK WHERE _id_ = ?1")),
      names_(std::move(names)),
      tables_(std::move(tables)) {}

BlockFile::Hold::Hold(BlockFile* file) : file_(file) {
  if (file_) file_->database_.execute("BEGIN");
}

BlockFile::Hold::~Hold() {
  if (!file_) return;
  try {
    file_->database_.execute("ROLLBACK");
  } catch (const Error&) {
    // A read error has ended the transaction.
  }
}

timeline::Block BlockFile::read(const BlockInfo& info, std::vector<std::byte>& bytes) {
  select_.bind(1, std::int64_t{info.id});
  bytes.clear();
  if (select_.step()) {
    const auto blob = select_.blob(0);
    bytes.assign(blob.begin(), blob.end());
  }
  select_.reset();
  const std::size_t size = bytes.size();
  bytes.resize(size + timeline::Block::padding);
  const auto block = timeline::Block::read(std::span(bytes).first(size), info);
  if (!block) throw_damaged();
  return *block;
}

std::uint32_t BlockFile::name(std::uint32_t number) const {
  if (number >= names_.size()) throw_damaged();
  return names_[number];
}

std::uint8_t BlockFile::table(std::uint8_t number) const {
  if (number >= tables_.size()) throw_damaged();
  return tables_[number];
}

StoredRow::StoredRow(std::shared_ptr<BlockFile> file, std::vector<BlockInfo> blocks)
    : file_(std::move(file)), blocks_(std::move(blocks)) {
  for (const BlockInfo& block : blocks_) {
    if (!file_->has_name(block.longest_name) || size_ + block.count > UINT32_MAX) throw_damaged();
    first_.push_back(static_cast<std::uint32_t>(size_));
    size_ += block.count;
  }
  pyramid_.build(
      blocks_.size(), [&](std::size_t i) { return blocks_[i].busy; },
      [&](std::uint32_t a, std::uint32_t b) {
        return blocks_[b].longest > blocks_[a].longest ? b : a;
      });
}

const StoredRow::Open& StoredRow::open(std::size_t number) const {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i].number != number) continue;
    oldest_ = 1 - i;
    return open_[i];
  }
  Open& one = open_[oldest_];
  one.number = SIZE_MAX;
  one.block = file_->read(blocks_[number], one.bytes);
  if (!one.block.times(blocks_[number], one.begin, one.end)) throw_damaged();
  one.number = number;
  oldest_ = 1 - oldest_;
  return one;
}

std::size_t StoredRow::block_of(std::size_t place) const {
  // Usually the same block as before, or the next one.
  for (std::size_t i = latest_block_; i < std::min(latest_block_ + 2, blocks_.size()); ++i) {
    if (place >= first_[i] && place - first_[i] < blocks_[i].count) return latest_block_ = i;
  }
  const auto behind = std::ranges::upper_bound(first_, place);
  return latest_block_ = static_cast<std::size_t>(behind - first_.begin()) - 1;
}

Item StoredRow::operator[](std::size_t place) const {
  const std::size_t number = block_of(place), in_it = place - first_[number];
  const Open& one = open(number);
  return {one.begin[in_it], one.end[in_it], one.block.id(in_it), file_->name(one.block.name(in_it)),
          file_->table(one.block.table(in_it))};
}

std::int64_t StoredRow::begin(std::size_t place) const {
  const std::size_t number = block_of(place), in_it = place - first_[number];
  return in_it == 0 ? blocks_[number].begin : open(number).begin[in_it];
}

std::int64_t StoredRow::end(std::size_t place) const {
  const std::size_t number = block_of(place), in_it = place - first_[number];
  return in_it + 1 == blocks_[number].count ? blocks_[number].end : open(number).end[in_it];
}

std::uint32_t StoredRow::name(std::size_t place) const {
  const std::size_t number = block_of(place);
  return file_->name(open(number).block.name(place - first_[number]));
}

void StoredRow::read(std::size_t first, std::size_t end, Part& part) const {
  const std::size_t number = block_of(first), begins = first - first_[number];
  const std::size_t ends = std::min<std::size_t>(blocks_[number].count, end - first_[number]);
  const Open& one = open(number);
  const auto from = static_cast<std::ptrdiff_t>(begins), to = static_cast<std::ptrdiff_t>(ends);
  part.begin_buffer.assign(one.begin.begin() + from, one.begin.begin() + to);
  part.end_buffer.assign(one.end.begin() + from, one.end.begin() + to);
  part.name_buffer.clear();
  part.table_buffer.clear();
  for (std::size_t i = begins; i < ends; ++i) {
    part.name_buffer.push_back(file_->name(one.block.name(i)));
    part.table_buffer.push_back(file_->table(one.block.table(i)));
  }
  part.times = {part.begin_buffer, part.end_buffer};
  part.names = part.name_buffer;
  part.tables = part.table_buffer;
}

std::size_t StoredRow::first_over_after(std::int64_t time) const {
  const auto found = std::ranges::lower_bound(blocks_, time, {}, &BlockInfo::end);
  if (found == blocks_.end()) return size_;
  const auto number = static_cast<std::size_t>(found - blocks_.begin());
  if (found->begin > time) return first_[number];
  const Open& one = open(number);
  std::size_t i = 0;
  while (i < one.begin.size() && over(one.begin[i], one.end[i]) <= time) ++i;
  return first_[number] + i;
}

std::size_t StoredRow::first_from(std::size_t place, std::int64_t time) const {
  const auto found = std::ranges::lower_bound(blocks_, time, {}, &BlockInfo::begin);
  if (found == blocks_.begin()) return place;
  // The previous block begins earlier: the record is in it, or is the first of this block.
  const auto number = static_cast<std::size_t>(found - blocks_.begin()) - 1;
  if (first_[number] + blocks_[number].count <= place) return place;
  const Open& one = open(number);
  const auto in_it = std::ranges::lower_bound(one.begin, time) - one.begin.begin();
  return std::max(place, first_[number] + static_cast<std::size_t>(in_it));
}

// Merges records of one block into `piece`.
void StoredRow::take_part(std::size_t number, std::size_t first, std::size_t end,
                          Piece& piece) const {
  const Open& one = open(number);
  for (std::size_t i = first; i < end; ++i) {
    const auto length = static_cast<std::uint64_t>(one.end[i] - one.begin[i]);
    piece.busy += length;
    const std::size_t place = first_[number] + i;
    if (length < piece.longest || (length == piece.longest && place >= piece.longest_place)) {
      continue;
    }
    piece.longest = length;
    piece.longest_place = static_cast<std::uint32_t>(place);
    piece.longest_name = one.block.name(i);
  }
}

void StoredRow::take_blocks(std::size_t first, std::size_t end, Piece& piece) const {
  const auto take = [&](std::uint32_t number, std::uint64_t busy) {
    const BlockInfo& block = blocks_[number];
    piece.busy += busy;
    const std::size_t place = first_[number] + block.longest_place;
    if (block.longest < piece.longest ||
        (block.longest == piece.longest && place >= piece.longest_place)) {
      return;
    }
    piece.longest = block.longest;
    piece.longest_place = static_cast<std::uint32_t>(place);
    piece.longest_name = block.longest_name;
  };
  pyramid_.visit(
      first, end, [&](std::size_t i) { return blocks_[i].busy; }, take);
}

Piece StoredRow::bucket(std::size_t first, std::size_t end) const {
  Piece piece{.first = static_cast<std::uint32_t>(first),
              .count = static_cast<std::uint32_t>(end - first),
              .longest_place = UINT32_MAX};
  const std::size_t first_block = block_of(first), last_block = block_of(end - 1);
  const auto take = [&](std::size_t number) {
    const std::size_t begins = std::max(first, std::size_t{first_[number]}) - first_[number];
    const std::size_t ends = std::min<std::size_t>(end - first_[number], blocks_[number].count);
    if (begins == 0 && ends == blocks_[number].count) {
      take_blocks(number, number + 1, piece);
    } else {
      take_part(number, begins, ends, piece);
    }
  };
  take(first_block);
  if (last_block != first_block) {
    take_blocks(first_block + 1, last_block, piece);
    take(last_block);
  }
  piece.longest_name = file_->name(piece.longest_name);
  return piece;
}

}  // namespace gpuprof::view
