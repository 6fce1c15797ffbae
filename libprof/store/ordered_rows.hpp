// The rows of a table in the order of a column, for tables that nearly have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// Gives the rows as "ORDER BY key, row id" does. SQLite would sort the whole table before the first
// row, into a temporary file of the table's size. Rows are stored in the order in which records
// came, so here blocks of them are sorted one by one, and at any time only those are open that have
// the next row or one of the same time; which these are is found by a scan of the keys. Where that
// would be too many blocks, SQLite sorts the table.
//
// Belongs to the snapshot's thread. The snapshot must outlive it.
class OrderedRows {
 public:
  // `key` is an integer column or an SQL expression.
  OrderedRows(Snapshot& snapshot, const Selection& selection, const std::string& key);

  // To the next row; false: there are no more.
  bool step();
  // The row, its columns as selected.
  const Statement& row() const { return open_.front().rows; }
  std::int64_t key() const { return open_.front().key; }

 private:
  struct Block {
    std::int64_t first_id = 0, last_id = 0;
    std::int64_t first_key = 0;
  };
  struct OpenBlock {
    std::int64_t key = 0;
    std::int64_t first_id = 0;
    Statement rows;
  };

  static bool later(const OpenBlock& a, const OpenBlock& b);
  void find_blocks(Snapshot& snapshot, const std::string& key, const RowIds& ids);
  void open(const Block& block);

  Database& database_;
  Selection selection_;
  int key_column_;
  std::vector<Block> blocks_;  // by their first keys; one: the whole table, for SQLite to sort
  std::string row_id_;         // empty: no blocks
  std::string order_;
  std::size_t next_ = 0;         // block to open
  std::vector<OpenBlock> open_;  // a heap with the next row in front
  std::vector<Statement> spare_;
  bool started_ = false;
};

}  // namespace gpuprof::store
