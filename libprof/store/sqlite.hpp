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
#include <vector>

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
    statement,    // SQLite does not take the statement, or a value in it: the database is sound
    refused,      // the file asks for what Guard does not allow, or for work without end
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

// SQL that stands in somebody else's file. No std::string, so that nothing runs it by mistake:
// Database::make() does, with its guard up.
class ForeignSql {
 public:
  explicit ForeignSql(std::string_view text) : text_(text) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
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
  Statement& bind_column(int index, const Statement& row, int column);  // whatever it is

  bool step();  // true: a row is there; false: done
  void run();   // step to the end and reset, also when it fails
  void reset();

  enum class Type { null, integer, real, text, blob };
  Type type(int index) const;  // asked before the value is read in another type

  int column_count() const;
  std::string_view column_name(int index) const;
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

// The one way to a database. A connection opens its own file and what SQLite keeps beside it, and
// no other file (ConfinedFiles). What is opened to be read was written by others: a Guard is over
// it, on copies and parts of it too. reading::ProfileFile decides in which mode such a file is
// opened.
class Database {
 public:
  enum class Mode {
    // Files of ours; a symbolic link of that name is not followed.
    create,  // a new or empty one
    read_write,
    // A file of others.
    read_only,
    // read_only of a file that nobody writes to. Makes no files beside it and takes no locks.
    untouched,
    // The same for a file with a write-ahead log that a writer left: it is read as well.
    untouched_with_log,
    // A copy of others' file: a transaction that its writer did not finish is undone.
    roll_back,
  };

  struct Options {
    std::string shown_as = {};  // the path that messages name, where it is another
    // What can be read of a truncated file or a damaged list of tables is read. Without this SQLite
    // refuses such files as a whole.
    bool damaged = false;
  };

  struct Column {
    std::string name;
    bool computed = false;
  };

  Database(const std::string& path, Mode mode) : Database(path, mode, Options()) {}
  Database(const std::string& path, Mode mode, Options options);
  // Once more, to be read only.
  Database reader() const;
  // Once more, to write what is ours into a file of ours, and nothing that others declared.
  Database writer() const;

  void execute(const std::string& sql);
  // Writes all of it anew, with pages of this size. Outside a transaction.
  void rebuild(std::int64_t page_size);
  Statement prepare(std::string_view sql) { return Statement(*this, sql); }
  // A question of the user's: one SELECT, ready to step.
  // Throws an Error that is none of a database, with ExitCode::bad_option, if it is something else
  // or SQLite does not understand it. `endless`: it may work for any time; see watch().
  Statement ask(std::string_view sql, bool endless);
  // First column of the first row; nothing if there is no row or it is NULL.
  std::optional<std::int64_t> integer(std::string_view sql);
  std::optional<std::string> text(std::string_view sql);
  bool in_transaction() const;  // some failures end it
  void release_memory();        // of pages that are kept there; others may use it then
  std::size_t changes() const;  // rows of the last INSERT, UPDATE or DELETE

  // In any case of letters, as SQLite takes names.
  bool has_table(std::string_view name);  // tables and views
  // Of a table or view; none if there is no such.
  std::vector<Column> columns(std::string_view table, std::string_view schema = "main");
  bool has_column(std::string_view table, std::string_view column,
                  std::string_view schema = "main");
  // Whether an index over all rows begins with the column.
  bool has_index(std::string_view table, std::string_view column);

  // Content of the other's is going to be copied into this new file: from now on a Guard is over
  // it, and when it becomes much larger than the other, writing throws Kind::refused.
  void take_in(const Database& other);
  // The same, with the other's file opened once more, under this name for SQL; read-only if the
  // other is.
  void attach(const Database& other, const std::string& name);
  // Makes the table, index or view of this name as the file has it that is taken in. False: the
  // text does something else, or SQLite does not take it.
  bool make(std::string_view type, std::string_view name, const ForeignSql& sql);
  // Calls `stop` now and then while statements run; true ends them with Kind::interrupted. Called
  // with nothing: no more.
  void watch(std::function<bool()> stop);
  // Statements that sort may have so many threads beside the caller's.
  void sort_with_threads(int count);
  // For what takes long past SQLite: throws as a statement would that was ended.
  void check_watch() const;

  // Called again and again while another process holds the file's lock, with how often it was
  // called for this wait. It should sleep a little; false ends the wait, and the statement fails.
  // Without it the wait ends after 10 s.
  void when_locked(std::function<bool(int times)> waits_on);

  // Bytes of the main file as they are on the disk: nothing that this connection has changed, and
  // nothing out of a log. By the connection's own descriptor, so that it is the same file, and that
  // no lock is lost. False: not all of them are there, or they cannot be read.
  bool read_file(std::int64_t offset, std::span<std::byte> bytes);
  // The other way, past SQLite, which must not know these bytes. Throws when the disk is full.
  void write_file(std::int64_t offset, std::span<const std::byte> bytes);
  // A transaction that only reads holds a lock on the file, there is no log, and so what
  // read_file() gives stays as it is until the transaction ends.
  bool keeps_file();

  const std::string& path() const;
  Mode mode() const;
  // Of the file and its log, when it was opened.
  std::int64_t size() const;
  sqlite3* handle() const;

 private:
  bool views_are_harmless();

  friend class Statement;
  using Connection = Statement::Connection;

  std::shared_ptr<Connection> connection_;
};

}  // namespace gpuprof::store
