// A row of a track as blocks of bytes, for a stored timeline.
//
// A block holds consecutive records of one row: each one's gap since the end of the previous one,
// its duration, id, name and table. Each column uses as many bytes per number as its largest number
// needs. A block fills a page of SQLite. A row's index has, per block, what a picture needs when a
// block is narrower than a pixel.
//
// Everything read is validated: it may be forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libprof/compute/timeline/records.hpp"

namespace gpuprof::timeline {

// A block's entry in an index.
struct BlockInfo {
  std::int64_t begin = 0, end = 0;  // begin of the first record, end of the last (the latest)
  std::uint64_t busy = 0;           // ns, all records
  std::uint64_t longest = 0;        // ns
  std::uint32_t longest_name = 0;
  std::uint32_t id = 0;  // block's id in its table
  std::uint16_t count = 0;
  std::uint16_t longest_place = 0;  // in the block
};

// Appends an entry to the bytes of an index.
void append(const BlockInfo& info, std::vector<std::byte>& index);
// Nullopt: not an index. Blocks are in order, and none is empty.
std::optional<std::vector<BlockInfo>> read_index(std::span<const std::byte> index);

// Collects the records of a row until they fill a block.
class BlockBuilder {
 public:
  // False: it is full; the record belongs to the next block.
  bool add(const Item& item);
  bool empty() const { return items_.empty(); }
  // Encodes the records added since the last call. `info.id` is set by the caller.
  BlockInfo finish(std::vector<std::byte>& block);

 private:
  struct Range {
    std::uint64_t least = UINT64_MAX, most = 0;
    void take(std::uint64_t value);
    std::size_t width() const;  // bytes per number, relative to the minimum
  };
  // By column: gaps, lengths, ids, names, tables.
  std::array<Range, 5> ranges_;
  std::vector<Item> items_;
};

// A decoded block. The bytes stay the caller's and must be followed by `padding` readable bytes.
class Block {
 public:
  static constexpr std::size_t padding = 8;

  // Nullopt: not the block described by `info`.
  static std::optional<Block> read(std::span<const std::byte> bytes, const BlockInfo& info);

  std::size_t size() const { return count_; }
  std::int64_t id(std::size_t place) const { return static_cast<std::int64_t>(value(2, place)); }
  std::uint32_t name(std::size_t place) const {
    return static_cast<std::uint32_t>(value(3, place));
  }
  std::uint8_t table(std::size_t place) const { return static_cast<std::uint8_t>(value(4, place)); }
  // The times of all records. False: they do not match the index.
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

}  // namespace gpuprof::timeline
