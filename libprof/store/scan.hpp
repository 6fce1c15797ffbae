// Reads rows through several connections that all see the same state of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/store/sqlite.hpp"

struct sqlite3_value;

namespace gpuprof::store {

enum class ValueType { null, integer, real, text, blob };

// The values of one row, indexed as requested. Valid during the visit.
class ScannedRow {
 public:
  explicit ScannedRow(sqlite3_value** values) : values_(values) {}

  ValueType type(int index) const;  // as stored
  // SQLite converts: NULL is 0 or empty, the text '18' is the integer 18.
  bool is_null(int index) const;
  std::int64_t integer(int index) const;
  double real(int index) const;
  std::string_view text(int index) const;
  std::span<const std::byte> blob(int index) const;

 private:
  sqlite3_value** values_;
};

// The name by which a statement can select the row id of a table in the main database; empty if
// there is none: for a view, a WITHOUT ROWID table, or a table whose columns hide every name that
// SQLite has for it.
std::string row_id_name(Database& database, const std::string& table);

// Visits the rows of a table in the main database in row id order, on one connection and its
// thread. An exception from `visit` ends the reading and is rethrown.
class RowReading {
 public:
  using Visit = std::function<void(ScannedRow)>;

  // `columns`: SQL expressions, at least one. `row_id`: from row_id_name(); empty: all rows are
  // read, in any order. `own`: nobody else uses the connection, so an SQL function may visit the
  // rows. That saves SQLite a result row each, a quarter of the time.
  RowReading(Database& database, bool own, const std::string& table,
             const std::vector<std::string>& columns, const std::string& row_id, Visit visit);
  RowReading(const RowReading&) = delete;
  RowReading& operator=(const RowReading&) = delete;

  void read_all();
  void read(std::int64_t first, std::int64_t last);  // row ids, inclusive

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
  // Smaller files are read by one thread: starting more costs as much as reading 10 MB.
  std::int64_t parallel_from_bytes = 16 << 20;
  bool twice = false;  // with Snapshot::other()
};

// A read transaction on a database, plus one connection per reading thread that sees the same
// state. Other processes may write in the meantime. If no further connections are possible (an
// in-memory database, an open transaction of the caller's, a writer that always commits in
// between), there is only the original connection, for one thread.
//
// Belongs to one thread, like the database, which must outlive it.
class Snapshot {
 public:
  explicit Snapshot(Database& database, SnapshotOptions options = {});
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  Database& database() { return database_; }
  std::size_t threads() const { return readers_.empty() ? 1 : readers_.size(); }
  // The connection for a thread, numbered from 0. Without separate connections it is the database
  // itself.
  Database& reader(std::size_t thread) { return readers_.empty() ? database_ : readers_[thread]; }
  bool has_own_readers() const { return !readers_.empty(); }
  // The same state with connections of its own, for another thread, which nobody watches. Null
  // without own readers.
  Snapshot* other() { return other_.get(); }
  // Whether the file holds the entire state and keeps it as long as the snapshot lives: there is no
  // log, and our locks keep writers out. Database::read_file() of a reader then returns what SQLite
  // would.
  bool in_file();

 private:
  // All are in a transaction.
  Snapshot(std::unique_ptr<Database> database, std::vector<Database> readers);
  void open_readers(std::size_t count, bool twice);
  void split(std::size_t count);

  std::unique_ptr<Database> held_;
  Database& database_;
  bool own_transaction_ = false;
  std::vector<Database> readers_;
  std::unique_ptr<Snapshot> other_;
};

}  // namespace gpuprof::store
