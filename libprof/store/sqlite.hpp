// SQLite's handles as C++ objects that close themselves. Nothing non-trivial lives here.
//
// A Database and its Statements belong to one thread at a time. Failures throw DatabaseError with
// SQLite's own words and the statement's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/base/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace gpuprof::store {

class Database;

class DatabaseError : public Error {
 public:
  enum class Kind {
    damaged,      // pages are missing, hold nonsense or cannot be read from the disk
    interrupted,  // by the function given to Database::watch()
    missing,      // the statement names a table or column that is not there
    unfinished,   // a writer died in a transaction, which only somebody who may write can undo
    other,
  };
  DatabaseError(const std::string& message, const std::string& hint, ExitCode exit_code, Kind kind)
      : Error(message, hint, exit_code), kind_(kind) {}
  Kind kind() const { return kind_; }
  bool damaged() const { return kind_ == Kind::damaged; }

 private:
  Kind kind_;
};

// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement() = default;
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, double value);
  Statement& bind(int index, std::string_view text);  // copied
  Statement& bind_blob(int index, std::span<const std::byte> bytes);
  Statement& bind_null(int index);

  bool step();  // true: a row is there; false: done
  void run();   // step to the end and reset
  void reset();

  int column_count() const;
  std::string_view column_name(int index) const;
  bool is_null(int index) const;
  std::int64_t integer(int index) const;
  double real(int index) const;
  std::string_view text(int index) const;  // valid until the next step
  std::span<const std::byte> blob(int index) const;

  sqlite3_stmt* handle() const { return statement_; }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  enum class Mode {
    read_only,
    read_write,
    create,
    // read_only of a file that nobody writes to. Makes no files beside it and takes no locks.
    untouched,
    // The same for a file with a write-ahead log that a writer left: it is read as well.
    untouched_with_log,
  };

  Database(const std::string& path, Mode mode);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const std::string& sql);
  Statement prepare(std::string_view sql) { return Statement(*this, sql); }
  // First column of the first row; nothing if there is no row or it is NULL.
  std::optional<std::int64_t> integer(std::string_view sql);
  std::optional<std::string> text(std::string_view sql);
  bool has_table(std::string_view name);  // tables and views

  // Opens the other's file once more, under this name for SQL; read-only if the other is.
  void attach(const Database& other, const std::string& name);
  // From now on what can be read of a truncated file or a damaged list of tables is read. Without
  // this SQLite refuses such files as a whole. To be called before anything else.
  void read_damaged();
  // Calls `stop` now and then while statements run; true ends them with Kind::interrupted. Called
  // with nothing: no more.
  void watch(std::function<bool()> stop);

  // Called again and again while another process holds the file's lock, with how often it was
  // called for this wait. It should sleep a little; false ends the wait, and the statement fails.
  // Without it the wait ends after 10 s.
  void when_locked(std::function<bool(int times)> waits_on);

  const std::string& path() const { return path_; }
  Mode mode() const { return mode_; }
  sqlite3* handle() const { return database_; }

 private:
  std::string path_;
  Mode mode_;
  sqlite3* database_ = nullptr;
  std::unique_ptr<std::function<bool()>> stop_;
  std::unique_ptr<std::function<bool(int)>> waits_on_;
};

}  // namespace gpuprof::store
