// A row of a track as blocks of bytes, for a timeline that is stored.
//
// A block has the records of one row, one after the other: how long after the one before each
// begins, how long it takes, its id, name and table, each column in as many bytes as its largest
// number needs. It fills a page of SQLite. A row's index says of each block what a picture needs
// where a block is less than a pixel.
//
// What is read is checked: it may be forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libprof/tracks/records.hpp"

namespace gpuprof::tracks {

// What an index says of a block.
struct BlockInfo {
  std::int64_t begin = 0, end = 0;  // of the first, and of the last, which is the latest
  std::uint64_t busy = 0;           // ns, of all
  std::uint64_t longest = 0;        // ns
  std::uint32_t longest_name = 0;
  std::uint32_t id = 0;  // of the block in its table
  std::uint16_t count = 0;
  std::uint16_t longest_place = 0;  // in the block
};

// Bytes of an index.
void append(const BlockInfo& info, std::vector<std::byte>& index);
// Nothing: it is none. Blocks are in order, and none is empty.
std::optional<std::vector<BlockInfo>> read_index(std::span<const std::byte> index);

// Takes the records of a row until there is a block of them.
class BlockBuilder {
 public:
  // False: it is full; the record is the first of the next.
  bool add(const Item& item);
  bool empty() const { return items_.empty(); }
  // Of what was added since the last time. `info.id` is the caller's.
  BlockInfo finish(std::vector<std::byte>& block);

 private:
  struct Range {
    std::uint64_t least = UINT64_MAX, most = 0;
    void take(std::uint64_t value);
    std::size_t width() const;  // bytes of a number, less the least
  };
  // By their columns: gaps, lengths, ids, names, tables.
  std::array<Range, 5> ranges_;
  std::vector<Item> items_;
};

// The bytes of a block, which stay the caller's, with `padding` more behind them.
class Block {
 public:
  static constexpr std::size_t padding = 8;

  // Nothing: they are no block that `info` tells of.
  static std::optional<Block> read(std::span<const std::byte> bytes, const BlockInfo& info);

  std::size_t size() const { return count_; }
  std::int64_t id(std::size_t place) const { return static_cast<std::int64_t>(value(2, place)); }
  std::uint32_t name(std::size_t place) const {
    return static_cast<std::uint32_t>(value(3, place));
  }
  std::uint8_t table(std::size_t place) const { return static_cast<std::uint8_t>(value(4, place)); }
  // All of them. False: they are not those that the index tells of.
  bool times(const BlockInfo& info, std::vector<std::int64_t>& begin,
             std::vector<std::int64_t>& end) const;

 private:
  struct Column {
    const std::byte* bytes = nullptr;
    std::size_t width = 0;
    std::uint64_t mask = 0, least = 0;
  };
  std::uint64_t value(std::size_t column, std::size_t place) const;

  std::size_t count_ = 0;
  std::array<Column, 5> columns_;
};

}  // namespace gpuprof::tracks
