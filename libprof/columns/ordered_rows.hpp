// Whole numbers of a table's rows in the order of time, without sorting the table: its rows lie
// nearly in that order, as they were recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/columns/reader.hpp"

namespace gpuprof::columns {

// Rows by their first column, then by their second one downwards, then by id; those alone that
// begin behind 0 and do not end before. Belongs to the snapshot's thread, and must not outlive it.
//
// Reads the table twice: first only when its rows begin, which tells up to when those are complete
// that were read so far.
class OrderedRows {
 public:
  // `request`: its first two columns are the begin and the end; none is a text. `look` is shown the
  // pieces of the first reading, with the columns of `looked_at`, of which the first two are the
  // same; may be empty.
  OrderedRows(store::Snapshot& snapshot, Request request, std::vector<std::string> looked_at = {},
              const std::function<void(const Chunk&)>& look = {});

  // What it will take, for rows that are read and not complete. More is better sorted elsewhere.
  std::size_t bytes() const { return most_waiting_ * (width_ + 4) * sizeof(std::int64_t) * 5 / 2; }

  static bool has_times(std::int64_t begin, std::int64_t end) { return begin > 0 && end >= begin; }

  // To the first row, or the next. False: there is none.
  bool next();
  // Of the row that it is at. NULL: 0.
  std::int64_t operator[](std::size_t column) const {
    return values_[keys_[at_].row * width_ + column];
  }
  bool is_null(std::size_t column) const { return nulls_[keys_[at_].row] >> column & 1; }

 private:
  static constexpr std::size_t block = 4096;  // rows of which the least begin is known

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
  std::vector<std::int64_t> least_;  // begin of a block's rows and all behind
  std::size_t most_waiting_ = 0;
  Reader reader_;
  Reader::Cursor cursor_;
  std::size_t read_ = 0;  // rows of the table
  bool all_read_ = false;

  std::vector<std::int64_t> values_;  // width_ for each row
  std::vector<std::uint64_t> nulls_;  // a bit for each column
  std::vector<std::int64_t> kept_values_;
  std::vector<std::uint64_t> kept_nulls_;
  std::vector<Key> keys_;  // in order
  std::size_t at_ = 0;
  std::size_t complete_ = 0;  // before which no other row comes
  bool begun_ = false;
};

}  // namespace gpuprof::columns
