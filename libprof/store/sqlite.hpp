// SQLite's handles as C++ objects that close themselves. Nothing non-trivial lives here.
//
// A Database and its Statements belong to one thread at a time. Failures throw gpuprof::Error with
// SQLite's own words and the statement's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gpuprof::store {

class Database;

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
  enum class Mode { read_only, read_write, create };

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

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return database_; }

 private:
  std::string path_;
  sqlite3* database_ = nullptr;
};

}  // namespace gpuprof::store
