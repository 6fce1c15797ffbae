// What a Database and its Statements share: SQLite's handle, and what has to outlive it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "libprof/store/confined_files.hpp"
#include "libprof/store/guard.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

constexpr bool is_ours(Database::Mode mode) {
  return mode == Database::Mode::create || mode == Database::Mode::read_write;
}

// SQLite's name for a file opened in this mode, by that VFS.
std::string uri(const std::string& path, Database::Mode mode, std::string_view vfs);
// Whose files a connection of this mode has.
const char* base_vfs(Database::Mode mode);

// A log without the memory that its users share can be read by one who has the file for himself.
// Without locks that costs nothing, and nothing is written at the end.
void read_log_alone(sqlite3* database);

class Statement::Connection {
 public:
  Connection(const std::string& path, Database::Mode mode, Database::Options options);
  ~Connection() { sqlite3_close_v2(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // SQLite's result. `rest`: where the next statement begins; may be null.
  int prepare(std::string_view sql, sqlite3_stmt** statement, const char** rest);
  // Throws what SQLite said last; `sql`: of which statement, may be empty.
  [[noreturn]] void fail(std::string_view sql) const;
  // Statements of our own, several if need be.
  void execute(const std::string& sql);

  std::string path_;
  Database::Mode mode_;
  Database::Options options_;
  std::int64_t size_ = 0;
  std::unique_ptr<ConfinedFiles> files_, attached_files_;
  Guard guard_;
  std::unique_ptr<std::function<bool(int)>> waits_on_;  // see when_locked()
  sqlite3* handle_ = nullptr;

 private:
  std::string opened_path() const;
  void open();
};

}  // namespace gpuprof::store
