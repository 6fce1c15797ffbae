// Bulk construction of tables and indexes whose rows are all known and sorted: pages are built one
// after another and appended past the end of the file. That takes a tenth of the time that SQLite
// needs to insert row by row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// New trees of one file. While a snapshot is alive, pages are written past the end of the file as
// recorded in its header: nobody reads there, and the snapshot's lock keeps others from writing.
// Then publish() makes them part of the file. Until then the file is unchanged, so the process may
// end at any time.
//
// Belongs to the snapshot's thread. Throws DatabaseError when the disk is full.
class NewTrees {
 public:
  struct Object {
    std::string type;  // "table" or "index"
    std::string name;
    std::string table;  // the index's table; for a table, its own name
    std::string sql;
    std::uint32_t root = 0;
  };

  // The snapshot must be in the file (Snapshot::in_file()).
  explicit NewTrees(Snapshot& snapshot);

  // False: the file was not written with SQLite's default page format.
  bool possible() const { return page_size_ > 0; }
  std::size_t page_size() const { return page_size_; }

  // Returns the page's number in the file.
  std::uint32_t add_page(std::span<const std::byte> page);
  // All pages added so far belong to this object and the ones before it.
  void add(Object object);
  // Discards pages after the last object: the next ones overwrite them.
  void go_back();

  // Puts the trees into the file through a separate connection. Call when the snapshot is gone,
  // outside a transaction. A table with the name of a new one is dropped. False: someone else has
  // written to the file in the meantime, or replaced it.
  bool publish();

 private:
  void write_buffer();
  std::uint32_t lock_page() const;  // which SQLite never uses

  Database& database_;
  std::size_t page_size_ = 0;
  std::array<std::byte, 16> header_{};  // change counter, page count and free pages at the start
  std::uint32_t next_ = 0;
  std::uint32_t behind_last_ = 0;  // the page after the last object
  std::uint32_t buffered_ = 0;     // first page in the buffer
  std::vector<std::byte> buffer_;
  std::vector<Object> objects_;
};

// One tree: cells arrive in order and fill leaf pages; the inner pages are built at the end. Uses
// 40 bytes of memory per leaf page.
class TreeWriter {
 public:
  TreeWriter(const TreeWriter&) = delete;
  TreeWriter& operator=(const TreeWriter&) = delete;

  // Writes the rest and returns the number of the root page. Nothing may be added afterwards.
  std::uint32_t finish();

 protected:
  static constexpr std::size_t most_cell = 40;

  enum class Kind { table, index };
  TreeWriter(NewTrees& trees, Kind kind);

  // Adds a leaf cell. `key` (tables only): what the inner page needs to separate it from later
  // ones.
  void add(std::span<const std::byte> cell, std::span<const std::byte> key);

 private:
  struct Bytes {
    std::uint8_t size = 0;
    std::array<std::byte, most_cell> bytes;
    void set(std::span<const std::byte> from);
    std::span<const std::byte> get() const { return {bytes.data(), size}; }
  };
  // A finished page and the key that separates it from the next.
  struct Child {
    std::uint32_t page = 0;
    Bytes key;
  };

  void start_page();
  bool has_room(std::size_t cell) const;
  void put(std::span<const std::byte> cell);
  void end_page(std::span<const std::byte> key);
  std::uint32_t write_page(std::uint8_t type, std::uint32_t right_child);
  std::vector<Child> next_level(const std::vector<Child>& children);

  NewTrees& trees_;
  const Kind kind_;
  std::vector<std::byte> page_;
  std::size_t header_ = 0;  // bytes of the page's header
  std::size_t cells_ = 0, content_ = 0;
  Bytes last_;     // the last cell of the page (index), or its key (table)
  Bytes waiting_;  // the cell after a page that is full (index); of size 0: none
  std::vector<Child> leaves_;
};

// An index on one integer column.
class IndexWriter : public TreeWriter {
 public:
  explicit IndexWriter(NewTrees& trees) : TreeWriter(trees, Kind::index) {}
  // Sorted by value, then row id; NULL first.
  void add(std::optional<std::int64_t> value, std::int64_t row_id);
};

// A table of integers: the row id first, then up to `most_values` others.
class TableWriter : public TreeWriter {
 public:
  static constexpr std::size_t most_values = 2;

  explicit TableWriter(NewTrees& trees) : TreeWriter(trees, Kind::table) {}
  // Sorted by row id.
  void add(std::int64_t row_id, std::span<const std::int64_t> values);
};

// A table of bytes: the row id and a blob that fits into a page.
class BlobTableWriter : public TreeWriter {
 public:
  static constexpr std::size_t least_page = 4096, most_bytes = 4040;

  // Pages must have at least `least_page` bytes.
  explicit BlobTableWriter(NewTrees& trees) : TreeWriter(trees, Kind::table) {}
  // Sorted by row id, which must not be negative; at most `most_bytes` per blob.
  void add(std::int64_t row_id, std::span<const std::byte> blob);

 private:
  std::vector<std::byte> cell_;
};

}  // namespace gpuprof::store
