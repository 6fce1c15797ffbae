// What a Database and its Statements share: SQLite's handle and everything that must outlive it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "libprof/store/confined_files.hpp"
#include "libprof/store/file_looks.hpp"
#include "libprof/store/guard.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

constexpr bool is_ours(Database::Mode mode) {
  return mode == Database::Mode::create || mode == Database::Mode::read_write;
}

// The URI for opening a file in this mode with that VFS.
std::string uri(const std::string& path, Database::Mode mode, std::string_view vfs);
// The SQLite VFS that a connection of this mode is based on.
const char* base_vfs(Database::Mode mode);

// Without shared memory, a write-ahead log can be read only with exclusive access to the file. As
// this mode takes no locks, that costs nothing, and nothing is written on close.
void read_log_alone(sqlite3* database);

class Statement::Connection {
 public:
  Connection(const std::string& path, Database::Mode mode, Database::Options options);
  ~Connection() { sqlite3_close_v2(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Returns SQLite's result code. `rest`: where the next statement begins; may be null.
  int prepare(std::string_view sql, sqlite3_stmt** statement, const char** rest);
  // Throws SQLite's last error. `sql`: the statement it concerns, may be empty.
  [[noreturn]] void fail(std::string_view sql) const;
  // Runs one or more of our own statements.
  void execute(const std::string& sql);

  std::string path_;
  Database::Mode mode_;
  Database::Options options_;
  std::int64_t size_ = 0;
  std::unique_ptr<ConfinedFiles> files_, attached_files_;
  std::optional<OpenDatabaseFile> file_, attached_file_;
  Guard guard_;
  std::unique_ptr<std::function<bool(int)>> waits_on_;  // see when_locked()
  // Whether the views of a schema version are harmless; see Database::views_are_harmless().
  std::optional<std::pair<std::int64_t, bool>> harmless_views_;
  sqlite3* handle_ = nullptr;

 private:
  std::string opened_path() const;
  void open();
};

}  // namespace gpuprof::store
