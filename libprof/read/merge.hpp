// Rows of several tables as one sequence in time order.
//
// A source reads one table and exposes its current row; what it does with the row is up to it. Each
// table has one cursor, and rows are merged while they are read, so memory does not grow with the
// file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/read/profile.hpp"

namespace gpuprof::reading {

// What a source reads.
struct TimedTable {
  std::string_view kind;
  std::string_view time = "start";  // column of the start time
  std::string valid = {};           // SQL condition for rows; empty: valid_times()
};

// The rows of one table that pass the profile's filter, in start order. Belongs to the profile's
// thread.
class Source {
 public:
  Source(Profile& profile, TimedTable table) : profile_(profile), table_(std::move(table)) {
    if (table_.valid.empty()) table_.valid = valid_times(table_.kind);
  }
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::string_view kind() const { return table_.kind; }
  std::string_view time() const { return table_.time; }
  std::string where() { return "WHERE " + table_.valid + " AND " + profile_.filter(kind()); }
  // Reports progress: "sorting CUPTI_ACTIVITY_KIND_MEMCPY".
  void tell(const std::string& what) { profile_.progress(what + " " + table_name(kind())); }
  bool any() { return profile_.select(kind(), {"1"}, where() + " LIMIT 1").step(); }

  // Call before the first advance().
  void begin() { rows_ = open(); }
  // Moves to the first or next row. there() says whether there is one.
  virtual void advance() {
    there_ = rows_.step();
    if (there_) start_ = rows_.integer(0);
  }
  bool there() const { return there_; }
  std::int64_t start() const { return start_; }

 protected:
  // A SELECT that ends with order(), with the start first.
  virtual store::Statement open() = 0;
  std::string order() const { return " ORDER BY " + std::string(table_.time); }
  const std::string& valid() const { return table_.valid; }

  store::Statement rows_;
  bool there_ = false;
  std::int64_t start_ = 0;

 private:
  Profile& profile_;
  TimedTable table_;
};

// `Some` is a Source. Of rows with the same start, the source added first comes first.
template <typename Some>
class Merge {
 public:
  void add(std::unique_ptr<Some> source) { sources_.push_back(std::move(source)); }
  std::span<const std::unique_ptr<Some>> sources() const { return sources_; }

  // The source with the next row; nullptr: no more rows. All sources begin before any reads a row:
  // some create temporary tables, which SQLite forbids later.
  Some* next() {
    if (!current_) {
      for (const auto& source : sources_) source->begin();
      for (const auto& source : sources_) {
        source->tell("sorting");
        source->advance();
      }
    } else {
      current_->advance();
    }
    Some* earliest = nullptr;
    for (const auto& source : sources_) {
      if (source->there() && (!earliest || source->start() < earliest->start())) {
        earliest = source.get();
      }
    }
    if (earliest) current_ = earliest;
    return earliest;
  }
  // The source of the current row, after next().
  Some* current() const { return current_; }

 private:
  std::vector<std::unique_ptr<Some>> sources_;
  Some* current_ = nullptr;
};

}  // namespace gpuprof::reading
