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

// In which order rows that begin at the same time come; last by id.
enum class Ties { outer_first, as_stored };

// Rows sorted by their first column; only those that begin after 0 and do not end before they
// begin. Belongs to the snapshot's thread and must not outlive it.
//
// Reads the table twice: the first pass reads only when rows begin, which determines up to which
// time the rows read so far are complete.
class OrderedRows {
 public:
  // Memory limit for rows that are read long before their turn; beyond it sorting is better.
  static constexpr std::size_t most_waiting = std::size_t{256} << 20;

  // `request`: its first two columns are begin and end; none may be a text. `look` receives the
  // chunks of the first pass, with the columns `looked_at`, whose first two must be the same; may
  // be empty.
  OrderedRows(store::Snapshot& snapshot, Request request, Ties ties,
              std::vector<std::string> looked_at = {},
              const std::function<void(const Chunk&)>& look = {});
  // Selected and sorted by SQLite instead, without checks.
  explicit OrderedRows(store::Statement sorted)
      : width_(0), ties_(Ties::as_stored), sorted_(std::move(sorted)) {}

  // Memory needed for rows that are read but not yet complete.
  std::size_t bytes() const { return most_waiting_ * (width_ + 4) * sizeof(std::int64_t) * 5 / 2; }

  static bool has_times(std::int64_t begin, std::int64_t end) { return begin > 0 && end >= begin; }

  // Moves to the first or next row. False: there is none.
  bool next();
  // A value of the current row. NULL: 0.
  std::int64_t operator[](std::size_t column) const {
    return reader_ ? values_[keys_[at_].row + column] : sorted_.integer(static_cast<int>(column));
  }
  bool is_null(std::size_t column) const {
    return reader_ ? values_[keys_[at_].row + width_] >> column & 1
                   : sorted_.is_null(static_cast<int>(column));
  }
  // If SQLite sorts: the current row, for values that are not integers.
  const store::Statement& sorted() const { return sorted_; }

 private:
  static constexpr std::size_t block = 4096;  // rows per stored minimum of begin

  struct Key {
    std::int64_t begin, end;
    std::size_t row;  // its place in values_
  };

  void look_through(store::Snapshot& snapshot, const Request& request,
                    const std::vector<std::string>& columns,
                    const std::function<void(const Chunk&)>& look);
  std::int64_t least_behind(std::size_t row) const;
  bool read_more();
  void add(const Chunk& chunk);
  void drop_done();

  const std::size_t width_;
  const Ties ties_;
  std::vector<std::int64_t> least_;  // minimum begin of a block and all after it
  std::size_t most_waiting_ = 0;
  store::Statement sorted_;
  std::optional<Reader> reader_;  // nullopt: SQLite sorts
  std::optional<Reader::Cursor> cursor_;
  std::size_t read_ = 0;  // rows of the table so far
  bool all_read_ = false;

  std::vector<std::int64_t> values_, kept_;  // width_ per row, then a bit per column: is it NULL
  std::vector<Key> keys_;                    // sorted
  std::size_t at_ = 0;
  std::size_t complete_ = 0;  // no row still to come sorts before this index
  bool begun_ = false;
};

}  // namespace gpuprof::columns
