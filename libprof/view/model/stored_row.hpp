// Rows of a timeline stored in the file (libprof/compute/timeline); blocks are read on demand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libprof/compute/timeline/blocks.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/view/model/row.hpp"

namespace gpuprof::view {

// Blocks of one file, read on a separate connection, and what the numbers in them mean. One thread
// at a time.
class BlockFile {
 public:
  // `names` maps numbers to indices into Model::names; `tables`, to indices into Model::tables.
  BlockFile(store::Database database, std::vector<std::uint32_t> names,
            std::vector<std::uint8_t> tables);

  // Throws Error if the block does not match its index entry.
  timeline::Block read(const timeline::BlockInfo& info, std::vector<std::byte>& bytes);
  std::uint32_t name(std::uint32_t number) const;
  std::uint8_t table(std::uint8_t number) const;
  // While it lives the file does not change, and reading many blocks takes half the time. The
  // process must not open and close the file meanwhile.
  class Hold {
   public:
    explicit Hold(BlockFile* file);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    BlockFile* const file_;  // may be null
  };
  bool has_name(std::uint32_t number) const { return number < names_.size(); }

 private:
  store::Database database_;
  store::Statement select_;
  const std::vector<std::uint32_t> names_;
  const std::vector<std::uint8_t> tables_;
};

// One thread at a time. Memory: 60 bytes per block. Reading may throw Error.
class StoredRow final : public TrackRow {
 public:
  // Blocks as returned by read_index(); at least one.
  StoredRow(std::shared_ptr<BlockFile> file, std::vector<timeline::BlockInfo> blocks);

  std::size_t size() const override { return size_; }
  Item operator[](std::size_t place) const override;
  std::int64_t begin(std::size_t place) const override;
  std::int64_t end(std::size_t place) const override;
  std::uint32_t name(std::size_t place) const override;
  void read(std::size_t first, std::size_t end, Part& part) const override;

 private:
  struct Open {
    std::size_t number = SIZE_MAX;
    std::vector<std::byte> bytes;
    timeline::Block block;
    std::vector<std::int64_t> begin, end;
  };

  std::size_t first_over_after(std::int64_t time) const override;
  std::size_t first_from(std::size_t place, std::int64_t time) const override;
  Piece bucket(std::size_t first, std::size_t end) const override;

  const Open& open(std::size_t block) const;
  std::size_t block_of(std::size_t place) const;
  void take_part(std::size_t block, std::size_t first, std::size_t end, Piece& piece) const;
  void take_blocks(std::size_t first, std::size_t end, Piece& piece) const;

  std::shared_ptr<BlockFile> file_;
  std::vector<timeline::BlockInfo> blocks_;
  std::vector<std::uint32_t> first_;  // index of each block's first record
  Pyramid pyramid_;                   // of the blocks
  std::size_t size_ = 0;
  // The blocks used last: accesses usually hit one or two.
  mutable std::array<Open, 2> open_;
  mutable std::size_t oldest_ = 0;
  mutable std::size_t latest_block_ = 0;
};

}  // namespace gpuprof::view
