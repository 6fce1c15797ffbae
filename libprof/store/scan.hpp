// Reads rows by several connections, which all see the same state of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/store/sqlite.hpp"

struct sqlite3_value;

namespace gpuprof::store {

enum class ValueType { null, integer, real, text, blob };

// The values of one row, by their place in what was asked for. Valid while it is visited.
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
// that SQLite has for it.
std::string row_id_name(Database& database, const std::string& table);

// Visits rows of the main database's table in the order of their ids, by one connection and in its
// thread. What `visit` throws ends the reading and comes out of it.
class RowReading {
 public:
  using Visit = std::function<void(Row)>;

  // `columns`: SQL expressions, at least one. `row_id`: as row_id_name() has it; empty: all rows
  // are read, in whatever order. `own`: nobody else uses the connection, so an SQL function may
  // visit the rows. That spares SQLite a result row each, a quarter of the time.
  RowReading(Database& database, bool own, const std::string& table,
             const std::vector<std::string>& columns, const std::string& row_id, Visit visit);
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

// A read transaction on a database, and connections of its own that see the same state, one for
// each thread that reads. Other processes may write meanwhile. Where there can be no further
// connections (a database in memory, a transaction of the caller's, a writer who is always between
// two of them) there is the one connection, for one thread.
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

 private:
  void open_readers(std::size_t count);

  Database& database_;
  bool own_transaction_ = false;
  std::vector<Database> readers_;
};

}  // namespace gpuprof::store
