// Rows of several tables as one sequence, in the order of time.
//
// A source reads one table and shows the row that it is at; what it does with it is its own. The
// rows come from one cursor per table and are merged while they are read, so that memory does not
// grow with the file.
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
  std::string_view time = "start";  // column of the start
  std::string valid = {};           // SQL: which rows; empty: valid_times()
};

// The rows of one table that pass the profile's filter, in the order of their start. Belongs to the
// profile's thread.
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
  // Progress: "sorting CUPTI_ACTIVITY_KIND_MEMCPY".
  void tell(const std::string& what) { profile_.progress(what + " " + table_name(kind())); }
  bool any() { return profile_.select(kind(), {"1"}, where() + " LIMIT 1").step(); }

  // Before the first advance().
  void begin() { rows_ = open(); }
  // To the first or next row. there() says whether there is one.
  virtual void advance() {
    there_ = rows_.step();
    if (there_) start_ = rows_.integer(0);
  }
  bool there() const { return there_; }
  std::int64_t start() const { return start_; }

 protected:
  // A SELECT that ends with order(), the start first.
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

// `Some` is a Source. Of rows that start together the source that was added first has the first.
template <typename Some>
class Merge {
 public:
  void add(std::unique_ptr<Some> source) { sources_.push_back(std::move(source)); }
  std::span<const std::unique_ptr<Some>> sources() const { return sources_; }

  // The source with the next row; nullptr: there are no more. All begin before one reads a row:
  // some make temporary tables, which SQLite does not let them do later.
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
  // Whose row it is, after next().
  Some* current() const { return current_; }

 private:
  std::vector<std::unique_ptr<Some>> sources_;
  Some* current_ = nullptr;
};

}  // namespace gpuprof::reading
