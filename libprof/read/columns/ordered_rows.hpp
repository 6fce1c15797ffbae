// Integers of a table's rows in time order, without sorting the table: its rows are nearly in that
// order, as they were recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/read/columns/reader.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::columns {

// Rows sorted by their first column, then descending by their second, then by id; only those that
// begin after 0 and do not end before they begin. Belongs to the snapshot's thread and must not
// outlive it.
//
// Reads the table twice: the first pass reads only when rows begin, which determines up to which
// time the rows read so far are complete.
class OrderedRows {
 public:
  // `request`: its first two columns are begin and end; none may be a text. `look` receives the
  // chunks of the first pass, with the columns `looked_at`, whose first two must be the same; may
  // be empty.
  OrderedRows(store::Snapshot& snapshot, Request request, std::vector<std::string> looked_at = {},
              const std::function<void(const Chunk&)>& look = {});
  // Sorted by SQLite instead, with the same checks: a SELECT of integers that ends in
  // "ORDER BY 1, 2 DESC".
  explicit OrderedRows(store::Statement sorted) : width_(0), sorted_(std::move(sorted)) {}

  // Memory needed for rows that are read but not yet complete. If it is large, sorting is better.
  std::size_t bytes() const { return most_waiting_ * (width_ + 4) * sizeof(std::int64_t) * 5 / 2; }

  static bool has_times(std::int64_t begin, std::int64_t end) { return begin > 0 && end >= begin; }

  // Moves to the first or next row. False: there is none.
  bool next();
  // A value of the current row. NULL: 0.
  std::int64_t operator[](std::size_t column) const {
    return reader_ ? values_[keys_[at_].row * width_ + column]
                   : sorted_.integer(static_cast<int>(column));
  }
  bool is_null(std::size_t column) const {
    return reader_ ? nulls_[keys_[at_].row] >> column & 1
                   : sorted_.is_null(static_cast<int>(column));
  }

 private:
  static constexpr std::size_t block = 4096;  // rows per stored minimum of begin

  struct Key {
    std::int64_t begin, end;
    std::size_t row;  // in values_
  };

  void look_through(store::Snapshot& snapshot, const Request& request,
                    const std::vector<std::string>& columns,
                    const std::function<void(const Chunk&)>& look);
  std::int64_t least_behind(std::size_t row) const;
  bool read_more();
  void add(const Chunk& chunk);
  void drop_done();

  const std::size_t width_;
  std::vector<std::int64_t> least_;  // minimum begin of a block and all after it
  std::size_t most_waiting_ = 0;
  store::Statement sorted_;
  std::optional<Reader> reader_;  // nullopt: SQLite sorts
  std::optional<Reader::Cursor> cursor_;
  std::size_t read_ = 0;  // rows of the table so far
  bool all_read_ = false;

  std::vector<std::int64_t> values_;  // width_ per row
  std::vector<std::uint64_t> nulls_;  // one bit per column
  std::vector<std::int64_t> kept_values_;
  std::vector<std::uint64_t> kept_nulls_;
  std::vector<Key> keys_;  // sorted
  std::size_t at_ = 0;
  std::size_t complete_ = 0;  // no row still to come sorts before this index
  bool begun_ = false;
};

}  // namespace gpuprof::columns
