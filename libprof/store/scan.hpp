// Reads whole tables as fast as SQLite gives their rows, on several threads, which all see the same
// state of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "libprof/store/sqlite.hpp"

struct sqlite3_value;

namespace gpuprof::store {

using Value = std::variant<std::int64_t, double, std::string>;

// Columns and rows of a table or view.
struct Selection {
  std::string table;
  std::vector<std::string>
      columns;             // SQL expressions, at least one; "[end]" where a name is a keyword
  std::string where = {};  // SQL condition; empty: all rows
  std::vector<Value> values = {};  // of ?1, ?2, … in columns and condition
};

enum class ValueType { null, integer, real, text, blob };

// The values of one row, by their place in Selection::columns. Valid while it is visited.
class Row {
 public:
  explicit Row(sqlite3_value** values) : values_(values) {}

  ValueType type(int index) const;  // as it is stored
  // SQLite converts: NULL is 0 or empty, the text '18' is the integer 18.
  bool is_null(int index) const;
  std::int64_t integer(int index) const;
  double real(int index) const;
  std::string_view text(int index) const;
  std::span<const std::byte> blob(int index) const;

 private:
  sqlite3_value** values_;
};

// The name by which a statement can ask for the id of a row of the main database's table; empty
// where there is none: of a view, of a table WITHOUT ROWID, of one that has columns of all names
// that SQLite has for it, or that a temporary table hides.
std::string row_id_name(Database& database, const std::string& table);

// Visits rows of a table in the order of their ids, by one connection and in its thread. What
// `visit` throws ends the reading and comes out of it.
class RowReading {
 public:
  using Visit = std::function<void(Row)>;

  // `own`: nobody else uses the connection, so an SQL function may visit the rows. That spares
  // SQLite a result row each, a quarter of the time. `row_id`: as row_id_name() has it; empty: all
  // rows are read, in whatever order.
  RowReading(Database& database, bool own, const Selection& selection, const std::string& row_id,
             Visit visit);
  RowReading(const RowReading&) = delete;
  RowReading& operator=(const RowReading&) = delete;

  void read_all();
  void read(std::int64_t first, std::int64_t last);  // row ids, both included

 private:
  bool take(sqlite3_value** values);

  bool own_;
  Visit visit_;
  std::vector<sqlite3_value*> values_;
  Statement statement_;
  std::exception_ptr thrown_;  // by `visit_`
};

struct SnapshotOptions {
  unsigned threads = 0;  // 0: one per CPU, at most 8
  // Smaller files are read by one thread: starting more costs as much as 10 MB read.
  std::int64_t parallel_from_bytes = 16 << 20;
};

// A read transaction on a database, and connections of its own that see the same state, for
// scans. Other processes may write meanwhile. Where there can be no further connections (a database
// in memory, a transaction of the caller's, a writer who is always between two of them) scans use
// the one connection and one thread.
//
// Belongs to one thread, as the database does, which must outlive it.
class Snapshot {
 public:
  explicit Snapshot(Database& database, SnapshotOptions options = {});
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  Database& database() { return database_; }
  std::size_t threads() const { return readers_.empty() ? 1 : readers_.size(); }
  // The connection for a thread, by number from 0. Without connections of our own it is the
  // database itself.
  Database& reader(std::size_t thread) { return readers_.empty() ? database_ : readers_[thread]; }
  bool has_own_readers() const { return !readers_.empty(); }
  // The file has all of the state and keeps it as long as the snapshot lives: there is no log, and
  // our locks keep writers off. Database::read_file() of a reader then gives what SQLite would.
  bool in_file();

  // Calls visit(accumulator, row) for each row, from several threads, each with an accumulator and
  // a copy of `visit` of its own. A thread gets its rows in no particular order. What `visit`
  // throws ends the scan and is thrown here.
  template <typename Accumulator, typename Visit>
  std::vector<Accumulator> scan(const Selection& selection, const Visit& visit) {
    struct alignas(64) Part {  // a cache line each: two threads write to neighbours
      Accumulator accumulator{};
      Visit visit;
    };
    std::vector<Part> parts;
    std::vector<void*> contexts;
    for (std::size_t i = 0; i < threads(); ++i) parts.push_back({.visit = visit});
    for (Part& part : parts) contexts.push_back(&part);
    run(
        selection,
        [](void* context, Row row) {
          Part& part = *static_cast<Part*>(context);
          part.visit(part.accumulator, row);
        },
        contexts);
    std::vector<Accumulator> result;
    for (Part& part : parts) result.push_back(std::move(part.accumulator));
    return result;
  }

 private:
  using Visitor = void (*)(void* context, Row row);

  void open_readers(std::size_t count);
  void run(const Selection& selection, Visitor visit, std::span<void* const> contexts);

  Database& database_;
  bool own_transaction_ = false;
  std::vector<Database> readers_;
};

// Times of many rows, in ns.
struct TimeTotal {
  std::int64_t count = 0;
  std::int64_t sum = 0;  // not beyond the largest integer
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::vector<std::int64_t> durations = {};  // if they were asked for; in no particular order

  void add(std::int64_t duration);
  void add(const TimeTotal& other);
};

// The rows of a table, by `key` and by what their times are worth.
struct TimeTotals {
  std::unordered_map<std::int64_t, TimeTotal> by_key;      // end > start > 0
  std::unordered_map<std::int64_t, std::int64_t> instant;  // number of rows with end = start > 0
  std::int64_t without_times = 0;                          // start or end = 0
  std::int64_t invalid = 0;                                // any other
};

struct TimeTotalsOptions {
  std::string key;  // an SQL expression; not an integer counts as 0
  std::string start = "start";
  std::string end = "[end]";
  std::string where = {};
  std::vector<Value> values = {};
  bool durations = false;  // keep each one
};

TimeTotals totals_by_key(Snapshot& snapshot, const std::string& table,
                         const TimeTotalsOptions& options);

}  // namespace gpuprof::store
