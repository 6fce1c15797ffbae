// Keeps the file of a run that goes on for weeks at one size (--keep-last): only the latest records
// stay.
//
// Rows are numbered in the order in which they come, so the oldest rows of a table have the lowest
// numbers. Deleting those frees whole pages, which SQLite fills again: no index is needed, nothing
// is moved, and the file is a profile at any moment. Marks say which rows had come at a time; what
// they record happened before it.
//
// What describes later rows stays: devices, contexts, streams, modules, names, NVTX ranges that are
// open, and allocations that were not released.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

struct KeepLast {
  std::optional<std::chrono::milliseconds> time;
  std::uint64_t bytes = 0;  // of records, as they are in the file; 0: no limit

  bool limits() const { return time || bytes > 0; }
};

// Part of the loader, on its thread.
class RecordRing {
 public:
  using Clock = std::chrono::steady_clock;

  // The database has no records yet, and must outlive this object.
  RecordRing(Database& database, KeepLast limit)
      : database_(database), limit_(limit), empty_(used()) {}

  // Rows of about this size have been inserted.
  void loaded(std::size_t bytes) { loaded_ += bytes; }
  // Deletes what is too old or too much. Call inside a transaction, now and then.
  void trim(Clock::time_point now);
  // Rows deleted so far.
  std::uint64_t let_go() const { return let_go_; }
  // The earliest time of those that a run's times may count from; reads all of these.
  std::optional<std::int64_t> first_time();

 private:
  // The highest number in each table that has rows.
  struct Mark {
    Clock::time_point time;
    std::map<std::string, std::int64_t> last;
  };

  std::uint64_t used();  // bytes of the pages that hold something
  bool is_due(Clock::time_point now) const;
  bool is_too_much(Clock::time_point now);
  Mark mark(Clock::time_point now);
  void delete_up_to(const Mark& mark);

  Database& database_;
  const KeepLast limit_;
  const std::uint64_t empty_;  // used() without records
  std::uint64_t loaded_ = 0;   // bytes since the last mark
  std::deque<Mark> marks_;     // the oldest first
  std::uint64_t let_go_ = 0;
};

}  // namespace gpuprof::store
