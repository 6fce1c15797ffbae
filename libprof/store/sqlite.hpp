// RAII wrappers of SQLite's handles.
//
// A Database and its Statements belong to one thread at a time. Failures throw DatabaseError with
// SQLite's message and the statement's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace gpuprof::store {

class Database;

class DatabaseError : public Error {
 public:
  enum class Kind {
    damaged,      // pages are missing, corrupt or unreadable
    interrupted,  // by the function given to Database::watch()
    missing,      // the statement names a table or column that does not exist
    unfinished,   // a writer died in a transaction, which only a process with write access can undo
    statement,    // SQLite rejects the statement or a value in it: the database is sound
    refused,      // the file requires something that Guard forbids, or unbounded work
    other,
  };
  DatabaseError(const std::string& message, const std::string& hint, ExitCode exit_code, Kind kind)
      : Error(message, hint, exit_code), kind_(kind) {}
  Kind kind() const { return kind_; }
  bool damaged() const { return kind_ == Kind::damaged; }
  // The next statement may well succeed.
  bool of_statement() const { return kind_ == Kind::statement || kind_ == Kind::missing; }

 private:
  Kind kind_;
};

// A name in double quotes, for SQL.
std::string quoted_name(std::string_view name);

// SQL found in a foreign file. Not a std::string, so that nothing runs it by mistake; only
// Database::make() does, under its guard.
class ForeignSql {
 public:
  explicit ForeignSql(std::string_view text) : text_(text) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A prepared statement. As in SQLite, parameters are numbered from 1 and columns from 0.
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
  Statement& bind_column(int index, const Statement& row, int column);  // whatever its type
  int parameter(const char* name) const;  // the number of ":name"; 0: it has no such parameter

  bool step();  // true: there is a row; false: done
  void run();   // steps to the end and resets, even on failure
  void reset();

  enum class Type { null, integer, real, text, blob };
  Type type(int index) const;  // call before reading the value as another type

  int column_count() const;
  std::string_view column_name(int index) const;
  // The declared type of the table column that this result column shows, e.g. "INTEGER"; empty if
  // the column is computed or has no declared type. Known before there are rows, and valid as long
  // as the statement.
  std::string_view declared_type(int index) const;
  bool is_null(int index) const;
  std::int64_t integer(int index) const;
  double real(int index) const;
  std::string_view text(int index) const;  // valid until the next step
  std::span<const std::byte> blob(int index) const;

  sqlite3_stmt* handle() const { return statement_; }

 private:
  friend class Database;
  class Connection;
  Statement& bound(int result);

  std::shared_ptr<Connection> connection_;
  sqlite3_stmt* statement_ = nullptr;
};

// The only way to access a database. A connection opens its own file and the files SQLite keeps
// next to it, and no others (ConfinedFiles). Files opened for reading are foreign: a Guard covers
// them, including copies and parts of them. reading::ProfileFile decides in which mode such a file
// is opened.
class Database {
 public:
  enum class Mode {
    // Our own files; a symbolic link of that name is not followed.
    create,  // a new or empty one
    read_write,
    // A foreign file.
    read_only,
    // read_only for a file that nobody writes to. Creates no files next to it and takes no locks.
    untouched,
    // The same for a file with a write-ahead log left by its writer; the log is read too.
    untouched_with_log,
    // A copy of a foreign file: its writer's unfinished transaction is rolled back.
    roll_back,
  };

  struct Options {
    std::string shown_as = {};  // the path to name in messages, if different
    // Reads what can be read of a truncated file or a damaged sqlite_master. Otherwise SQLite
    // rejects such files as a whole.
    bool damaged = false;
  };

  struct Column {
    std::string name;
    bool computed = false;
  };

  Database(const std::string& path, Mode mode) : Database(path, mode, Options()) {}
  Database(const std::string& path, Mode mode, Options options);
  // Opens a second connection, for reading only.
  Database reader() const;
  // Opens a second connection to write our own data into one of our files, and nothing that others
  // declared.
  Database writer() const;

  void execute(const std::string& sql);
  // Rewrites the whole file with this page size. Call outside a transaction.
  void rebuild(std::int64_t page_size);
  Statement prepare(std::string_view sql) { return Statement(*this, sql); }
  // A user's query: one SELECT, ready to step. If it is anything else or SQLite rejects it, throws
  // an Error that is not a DatabaseError, with ExitCode::bad_option. `endless`: no limit on its
  // work; see watch().
  Statement ask(std::string_view sql, bool endless);
  // First column of the first row; nullopt if there is no row or it is NULL.
  std::optional<std::int64_t> integer(std::string_view sql);
  std::optional<std::string> text(std::string_view sql);
  bool in_transaction() const;  // some failures end it
  void release_memory();        // frees cached pages for others to use
  std::size_t changes() const;  // rows of the last INSERT, UPDATE or DELETE

  // Case-insensitive, like SQLite's names.
  bool has_table(std::string_view name);  // tables and views
  // Of a table or view; empty if it does not exist.
  std::vector<Column> columns(std::string_view table, std::string_view schema = "main");
  bool has_column(std::string_view table, std::string_view column,
                  std::string_view schema = "main");
  bool has_columns(std::string_view table, std::initializer_list<std::string_view> names);
  // Whether an index over all rows begins with this column.
  bool has_index(std::string_view table, std::string_view column);

  // Prepares this new file for copying content from `other`: from now on a Guard covers it, and
  // writing throws Kind::refused once it becomes much larger than `other`.
  void take_in(const Database& other);
  // The same, and opens the other file a second time, as `name` in SQL; read-only if `other` is.
  void attach(const Database& other, const std::string& name);
  // Creates the table, index or view of this name with the SQL of the file being copied. False: the
  // text does something else, or SQLite rejects it.
  bool make(std::string_view type, std::string_view name, const ForeignSql& sql);
  // Calls `stop` now and then while statements run; returning true ends them with
  // Kind::interrupted. An empty function stops watching.
  void watch(std::function<bool()> stop);
  // Sorting statements may use `count` threads in addition to the caller's.
  void sort_with_threads(int count);
  // For long work outside SQLite: throws as an interrupted statement would.
  void check_watch() const;

  // Called repeatedly while another process holds the file's lock, with the number of calls in this
  // wait. It should sleep a little; returning false ends the wait, and the statement fails. Without
  // it the wait ends after 10 s.
  void when_locked(std::function<bool(int times)> waits_on);

  // Reads bytes of the main file as they are on disk: without this connection's changes and without
  // a log. Uses the connection's own descriptor, so it is the same file and no lock is lost. False:
  // not all bytes exist, or they cannot be read.
  bool read_file(std::int64_t offset, std::span<std::byte> bytes);
  // Writes bytes, bypassing SQLite, which must not know them. Throws when the disk is full.
  void write_file(std::int64_t offset, std::span<const std::byte> bytes);
  // Whether a read transaction holds a lock on the file and there is no log, so that what
  // read_file() returns does not change until the transaction ends.
  bool keeps_file();

  const std::string& path() const;
  Mode mode() const;
  // Of the file and its log, when opened.
  std::int64_t size() const;
  sqlite3* handle() const;

 private:
  bool views_are_harmless();
  bool look_into_views();

  friend class Statement;
  using Connection = Statement::Connection;

  std::shared_ptr<Connection> connection_;
};

}  // namespace gpuprof::store
