#include "libprof/store/connection.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <utility>

#include "libprof/base/path.hpp"

namespace gpuprof::store {
namespace {

using Mode = Database::Mode;

std::int64_t file_size(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

bool disk_is_full(const std::string& path) {
  struct statvfs status {};
  constexpr unsigned long some = 16;  // blocks
  return statvfs(path.c_str(), &status) == 0 && status.f_bavail < some;
}

}  // namespace

std::string uri(const std::string& path, Mode mode, std::string_view vfs) {
  std::string text = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      text += c == '%' ? "%25" : c == '?' ? "%3f" : "%23";
    } else {
      text += c;
    }
  }
  text.append("?vfs=").append(vfs);
  switch (mode) {
    case Mode::create:
    case Mode::read_write:
    case Mode::roll_back: break;
    case Mode::untouched: text += "&immutable=1"; [[fallthrough]];
    case Mode::read_only:
    case Mode::untouched_with_log: text += "&mode=ro"; break;
  }
  return text;
}

const char* base_vfs(Mode mode) { return mode == Mode::untouched_with_log ? "unix-none" : "unix"; }

void read_log_alone(sqlite3* database) {
  sqlite3_exec(database, "PRAGMA locking_mode = EXCLUSIVE", nullptr, nullptr, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

Statement::Connection::Connection(const std::string& path, Mode mode, Database::Options options)
    : path_(path), mode_(mode), options_(std::move(options)) {
  if (options_.shown_as.empty()) options_.shown_as = path_;
  size_ = file_size(path_) + file_size(path_ + "-wal");
  open();
}

int Statement::Connection::prepare(std::string_view sql, sqlite3_stmt** statement,
                                   const char** rest) {
  guard_.prepares();
  const int result =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), statement, rest);
  guard_.has_prepared(*statement);
  return result;
}

void Statement::Connection::fail(std::string_view sql) const {
  const int code = handle_ ? sqlite3_extended_errcode(handle_) : SQLITE_NOMEM;
  const std::string said = handle_ ? sqlite3_errmsg(handle_) : "out of memory";
  std::string message = options_.shown_as + ": " + said;
  std::string hint;
  const bool foreign = guard_.content() != Guard::Content::ours;
  const bool reading = !is_ours(mode_);
  auto exit_code = reading ? ExitCode::import_failed : ExitCode::output_failed;
  using Kind = DatabaseError::Kind;
  auto kind = Kind::other;
  const auto refuse = [&](const std::string& what) {
    kind = Kind::refused;
    message = options_.shown_as + ": " + what;
    hint = "the file was changed or forged: gpuprof and nvprof do not write such files";
    exit_code = ExitCode::import_failed;
  };
  switch (code & 0xff) {
    case SQLITE_FULL:
      hint = "free some space and run again; what was committed before stays readable";
      if (foreign && !disk_is_full(path_)) {
        refuse("what its tables hold is many times as long as the file");
      }
      break;
    case SQLITE_CANTOPEN:
      hint = reading ? "check that it may be read"
                     : "check that the folder exists and may be written to";
      break;
    case SQLITE_BUSY: hint = "another process writes to it"; break;
    case SQLITE_INTERRUPT:
      kind = Kind::interrupted;
      if (guard_.exhausted()) {
        refuse("a view or table in it takes more work than a file of its size can need");
      }
      break;
    case SQLITE_AUTH: refuse("a view or table in it does more than hold records: " + said); break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: kind = Kind::damaged; break;
    case SQLITE_TOOBIG:
      if (guard_.hears_user() || !foreign) {
        kind = Kind::statement;
        if (foreign) hint = "a question computes with up to 8 MiB, and printf() makes up to 1 MiB";
      } else if (guard_.of_others_runs()) {
        refuse("a view in it computes values of more than 8 MiB");
      } else {
        kind = Kind::damaged;  // nonsensical lengths
      }
      break;
    case SQLITE_NOMEM:
      if (guard_.hears_user()) {
        kind = Kind::statement;
        message = options_.shown_as + ": it takes more memory than a question may have";
      } else if (foreign) {
        refuse("reading it takes more memory than a file of its size can need");
      }
      break;
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_READ || code == SQLITE_IOERR_CORRUPTFS) kind = Kind::damaged;
      break;
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_ROLLBACK) kind = Kind::unfinished;
      break;
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
      if (!foreign) kind = Kind::statement;
      [[fallthrough]];
    default:
      if (said.starts_with("no such ")) kind = Kind::missing;
      // SQLite has no specific code for a function that the guard refuses.
      if (foreign && said.starts_with("not authorized")) {
        refuse("a view or table in it does more than hold records: " + said);
        break;
      }
      if (!sql.empty()) message += " in: " + std::string(sql.substr(0, 200));
  }
  throw DatabaseError(message, hint, exit_code, kind);
}

void Statement::Connection::execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
}

// SQLITE_OPEN_NOFOLLOW also rejects symbolic links in the folder's path.
std::string Statement::Connection::opened_path() const {
  return is_ours(mode_) && path_.find('/') != path_.npos ? resolved(path_) : path_;
}

void Statement::Connection::open() {
  files_ = std::make_unique<ConfinedFiles>(base_vfs(mode_), options_.damaged);
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  switch (mode_) {
    case Mode::create: flags |= SQLITE_OPEN_CREATE; [[fallthrough]];
    case Mode::read_write: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW; break;
    case Mode::roll_back: flags |= SQLITE_OPEN_READWRITE; break;
    default: flags |= SQLITE_OPEN_READONLY; break;
  }
  const std::string name = uri(opened_path(), mode_, files_->name());
  if (sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
    try {
      fail({});
    } catch (...) {
      sqlite3_close_v2(std::exchange(handle_, nullptr));
      throw;
    }
  }
  file_.emplace(path_);
  files_->withdraw();
  sqlite3_busy_timeout(handle_, 10'000);
  if (mode_ == Mode::untouched_with_log) read_log_alone(handle_);
  if (is_ours(mode_)) return;
  sqlite3_exec(handle_, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
  guard_.protect(handle_, Guard::Content::read, size_);
  // Lets SQLite continue past a corrupt entry in sqlite_master. SQLITE_DBCONFIG_DEFENSIVE, which
  // the guard sets, keeps it from allowing anything else.
  if (options_.damaged) {
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  }
}

}  // namespace gpuprof::store
