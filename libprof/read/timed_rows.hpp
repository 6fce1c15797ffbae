// Rows of one table of a profile in time order: a source of a Merge.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/read/columns/ordered_rows.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::reading {

// What is read.
struct TimedTable {
  std::string_view kind;
  std::string_view time = "start";  // column of the start time
  std::string valid = {};           // SQL condition for rows; empty: valid_times()
  // All columns are integers, and the first two are start and end: the table need not be sorted,
  // and `valid` may only compare these two. Nullopt: SQLite sorts the rows by start.
  std::optional<columns::Ties> integers = {};
  std::size_t most_waiting = columns::OrderedRows::most_waiting;
  // See OrderedRows.
  std::vector<std::string> looked_at = {};
  std::function<void(const columns::Chunk&)> look = {};
};

// The rows of one table that pass the profile's filter, in start order. Belongs to the profile's
// thread. What a derived class does with the current row is up to it.
class TimedRows {
 public:
  TimedRows(Profile& profile, TimedTable table);
  virtual ~TimedRows() = default;
  TimedRows(const TimedRows&) = delete;
  TimedRows& operator=(const TimedRows&) = delete;

  std::string_view kind() const { return table_.kind; }
  std::string_view time() const { return table_.time; }
  std::string where() { return "WHERE " + table_.valid + " AND " + profile_.filter(kind()); }
  bool any() { return profile_.select(kind(), {"1"}, where() + " LIMIT 1").step(); }

  // Call for all sources before the first next(): some create temporary tables, which SQLite
  // forbids once rows are read.
  virtual void begin();
  virtual bool next();
  bool is_before(const TimedRows& other) const { return start_ < other.start_; }
  std::int64_t start() const { return start_; }

 protected:
  // Names of columns or SQL expressions, the start first. Empty ones, and columns that the file
  // lacks, read as 0.
  virtual std::vector<std::string_view> columns() = 0;
  // The rows sorted by SQLite.
  virtual store::Statement select(const std::vector<std::string_view>& columns);

  // Of the current row, by the places in columns().
  bool has(std::size_t column) const { return places_[column] != absent; }
  std::int64_t integer(std::size_t column) const {
    return has(column) ? (*rows_)[places_[column]] : 0;
  }
  bool is_null(std::size_t column) const { return has(column) && rows_->is_null(places_[column]); }
  // The row with all columns, if these are not all integers.
  const store::Statement& row() const { return rows_->sorted(); }
  const std::string& valid() const { return table_.valid; }

 private:
  static constexpr std::size_t absent = SIZE_MAX;

  Profile& profile_;
  TimedTable table_;
  std::vector<std::size_t> places_;           // in rows_, by column
  std::optional<columns::OrderedRows> rows_;  // nullopt: no row passes the filter
  std::int64_t start_ = 0;
  bool takes_time_ = false;  // rows that end when they start are left out
};

}  // namespace gpuprof::reading
