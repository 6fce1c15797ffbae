// Tables and indexes whose rows are all there, in order: their pages are made one after the other
// and put behind the end of the file. SQLite puts a row at a time into its tree, and takes ten
// times as long.
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

// New trees of one file. First, while a snapshot of it lives, pages are written behind what the
// file's header says is its end: nobody looks there, and the snapshot's lock keeps others from
// writing. Then publish() makes them part of the file. Until then the file is what it was, so the
// process may end at any time.
//
// Belongs to the snapshot's thread. Throws DatabaseError when the disk is full.
class NewTrees {
 public:
  struct Object {
    std::string type;  // "table" or "index"
    std::string name;
    std::string table;  // that an index is of; of a table its name
    std::string sql;
    std::uint32_t root = 0;
  };

  // The snapshot is in the file (Snapshot::in_file()).
  explicit NewTrees(Snapshot& snapshot);

  // False: the file's pages are not as SQLite makes them unless asked otherwise.
  bool possible() const { return page_size_ > 0; }
  std::size_t page_size() const { return page_size_; }

  // The number that the page has in the file.
  std::uint32_t add_page(std::span<const std::byte> page);
  // All pages that were added are those of this object and of the ones before.
  void add(Object object);
  // Pages behind the last object are overwritten by what comes next.
  void go_back();

  // When the snapshot is gone, and outside a transaction: puts the trees into the file, by a
  // connection of its own. A table of the name of a new one is dropped. False: somebody else has
  // written to the file meanwhile, or put another one in its place.
  bool publish();

 private:
  void write_buffer();
  std::uint32_t lock_page() const;  // which SQLite never uses

  Database& database_;
  std::size_t page_size_ = 0;
  std::array<std::byte, 16> header_{};  // change counter, pages and free pages, as they were
  std::uint32_t next_ = 0;
  std::uint32_t behind_last_ = 0;  // object
  std::uint32_t buffered_ = 0;     // number of the first page in the buffer
  std::vector<std::byte> buffer_;
  std::vector<Object> objects_;
};

// One tree: cells come in order and fill leaf pages; the pages above these are made in the end.
// Memory: 40 bytes for each leaf page.
class TreeWriter {
 public:
  TreeWriter(const TreeWriter&) = delete;
  TreeWriter& operator=(const TreeWriter&) = delete;

  // Writes what is left. The number of the root page. Nothing may be added afterwards.
  std::uint32_t finish();

 protected:
  static constexpr std::size_t most_cell = 40;

  enum class Kind { table, index };
  TreeWriter(NewTrees& trees, Kind kind);

  // A cell of a leaf, and what the page above has to tell it from the ones behind it (of a table).
  void add(std::span<const std::byte> cell, std::span<const std::byte> key);

 private:
  struct Bytes {
    std::uint8_t size = 0;
    std::array<std::byte, most_cell> bytes;
    void set(std::span<const std::byte> from);
    std::span<const std::byte> get() const { return {bytes.data(), size}; }
  };
  // A finished page, and the key between it and the next one.
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
  Bytes last_;                    // the last cell of the page (index), or its key (table)
  Bytes waiting_;  // the cell after a page that is full (index); of size 0: none
  std::vector<Child> leaves_;
};

// An index of one column of whole numbers.
class IndexWriter : public TreeWriter {
 public:
  explicit IndexWriter(NewTrees& trees) : TreeWriter(trees, Kind::index) {}
  // In the order of both, NULL first.
  void add(std::optional<std::int64_t> value, std::int64_t row_id);
};

// A table of whole numbers: first the one that is the row id, then some others.
class TableWriter : public TreeWriter {
 public:
  static constexpr std::size_t most_values = 2;

  explicit TableWriter(NewTrees& trees) : TreeWriter(trees, Kind::table) {}
  // In the order of row ids.
  void add(std::int64_t row_id, std::span<const std::int64_t> values);
};

// A table of bytes: the row id, and a blob that fits into a page.
class BlobTableWriter : public TreeWriter {
 public:
  static constexpr std::size_t least_page = 4096, most_bytes = 4040;

  // Pages have `least_page` bytes or more.
  explicit BlobTableWriter(NewTrees& trees) : TreeWriter(trees, Kind::table) {}
  // In the order of row ids, which are not negative; no more than `most_bytes`.
  void add(std::int64_t row_id, std::span<const std::byte> blob);

 private:
  std::vector<std::byte> cell_;
};

}  // namespace gpuprof::store
