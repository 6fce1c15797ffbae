#include "libprof/store/sqlite.hpp"

#include <sqlite3.h>

#include <utility>

namespace gpuprof::store {
namespace {

[[noreturn]] void fail(sqlite3* database, const std::string& path, std::string_view sql) {
  std::string message = path + ": " + (database ? sqlite3_errmsg(database) : "out of memory");
  std::string hint;
  const int code = database ? sqlite3_extended_errcode(database) : SQLITE_NOMEM;
  const bool reading = database && sqlite3_db_readonly(database, "main") == 1;
  const auto exit_code = reading ? ExitCode::import_failed : ExitCode::output_failed;
  auto kind = DatabaseError::Kind::other;
  switch (code & 0xff) {
    case SQLITE_FULL:
      hint = "free some space and run again; what was committed before stays readable";
      break;
    case SQLITE_CANTOPEN:
      hint = reading ? "check that it may be read"
                     : "check that the folder exists and may be written to";
      break;
    case SQLITE_BUSY: hint = "another process writes to it"; break;
    case SQLITE_INTERRUPT: kind = DatabaseError::Kind::interrupted; break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: kind = DatabaseError::Kind::damaged; break;
    case SQLITE_IOERR:
      if (code == SQLITE_IOERR_READ || code == SQLITE_IOERR_CORRUPTFS) {
        kind = DatabaseError::Kind::damaged;
      }
      break;
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_ROLLBACK) kind = DatabaseError::Kind::unfinished;
      break;
    default:
      if (message.find(": no such ") != message.npos) kind = DatabaseError::Kind::missing;
      if (!sql.empty()) message += " in: " + std::string(sql.substr(0, 200));
  }
  throw DatabaseError(message, hint, exit_code, kind);
}

// SQLite's name for a file opened in this mode.
std::string uri(const std::string& path, Database::Mode mode) {
  std::string text = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      text += c == '%' ? "%25" : c == '?' ? "%3f" : "%23";
    } else {
      text += c;
    }
  }
  switch (mode) {
    case Database::Mode::read_only: return text + "?mode=ro";
    case Database::Mode::untouched: return text + "?mode=ro&immutable=1";
    case Database::Mode::untouched_with_log: return text + "?mode=ro&vfs=unix-none";
    default: return text;
  }
}

// A log without the memory that its users share can be read by one who has the file for himself.
// Without locks that costs nothing, and nothing is written at the end.
void read_log_alone(sqlite3* database) {
  sqlite3_exec(database, "PRAGMA locking_mode = EXCLUSIVE", nullptr, nullptr, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

}  // namespace

Statement::Statement(Database& database, std::string_view sql) {
  if (sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement_,
                         nullptr) != SQLITE_OK) {
    fail(database.handle(), database.path(), sql);
  }
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(statement_, other.statement_);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_, index, value);
  return *this;
}

Statement& Statement::bind(int index, double value) {
  sqlite3_bind_double(statement_, index, value);
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text(statement_, index, text.data() ? text.data() : "",
                    static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind_blob(int index, std::span<const std::byte> bytes) {
  sqlite3_bind_blob64(statement_, index,
                      bytes.empty() ? "" : static_cast<const void*>(bytes.data()), bytes.size(),
                      SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind_null(int index) {
  sqlite3_bind_null(statement_, index);
  return *this;
}

bool Statement::step() {
  switch (sqlite3_step(statement_)) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: {
      sqlite3* database = sqlite3_db_handle(statement_);
      const char* path = sqlite3_db_filename(database, "main");
      fail(database, path ? path : "", sqlite3_sql(statement_));
    }
  }
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() { sqlite3_reset(statement_); }

int Statement::column_count() const { return sqlite3_column_count(statement_); }

std::string_view Statement::column_name(int index) const {
  return sqlite3_column_name(statement_, index);
}

bool Statement::is_null(int index) const {
  return sqlite3_column_type(statement_, index) == SQLITE_NULL;
}

std::int64_t Statement::integer(int index) const { return sqlite3_column_int64(statement_, index); }

double Statement::real(int index) const { return sqlite3_column_double(statement_, index); }

std::string_view Statement::text(int index) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, index));
  return text ? std::string_view(text,
                                 static_cast<std::size_t>(sqlite3_column_bytes(statement_, index)))
              : std::string_view();
}

std::span<const std::byte> Statement::blob(int index) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_, index));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, index))};
}

Database::Database(const std::string& path, Mode mode) : path_(path), mode_(mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  switch (mode) {
    case Mode::read_write: flags |= SQLITE_OPEN_READWRITE; break;
    case Mode::create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
    default: flags |= SQLITE_OPEN_READONLY; break;
  }
  if (sqlite3_open_v2(uri(path, mode).c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    sqlite3* database = std::exchange(database_, nullptr);
    try {
      fail(database, path, {});
    } catch (...) {
      sqlite3_close_v2(database);
      throw;
    }
  }
  sqlite3_busy_timeout(database_, 10'000);
  if (mode == Mode::untouched_with_log) read_log_alone(database_);
}

Database::~Database() { sqlite3_close_v2(database_); }

Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)),
      mode_(other.mode_),
      database_(std::exchange(other.database_, nullptr)),
      stop_(std::move(other.stop_)),
      waits_on_(std::move(other.waits_on_)) {}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail(database_, path_, sql);
  }
}

std::optional<std::int64_t> Database::integer(std::string_view sql) {
  Statement statement(*this, sql);
  if (!statement.step() || statement.is_null(0)) return std::nullopt;
  return statement.integer(0);
}

std::optional<std::string> Database::text(std::string_view sql) {
  Statement statement(*this, sql);
  if (!statement.step() || statement.is_null(0)) return std::nullopt;
  return std::string(statement.text(0));
}

bool Database::has_table(std::string_view name) {
  Statement statement(*this,
                      "SELECT 1 FROM sqlite_master WHERE name = ?1 AND type IN ('table', 'view')");
  statement.bind(1, name);
  return statement.step();
}

void Database::attach(const Database& other, const std::string& name) {
  Statement attach = prepare("ATTACH ?1 AS " + name);
  if (other.mode_ == Mode::untouched_with_log) read_log_alone(database_);
  attach.bind(1, uri(other.path_, other.mode_)).run();
}

void Database::read_damaged() {
  sqlite3_db_config(database_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
}

void Database::watch(std::function<bool()> stop) {
  stop_ = stop ? std::make_unique<std::function<bool()>>(std::move(stop)) : nullptr;
  constexpr int instructions = 100'000;  // some milliseconds
  sqlite3_progress_handler(
      database_, stop_ ? instructions : 0,
      [](void* context) { return (*static_cast<std::function<bool()>*>(context))() ? 1 : 0; },
      stop_.get());
}

void Database::when_locked(std::function<bool(int)> waits_on) {
  waits_on_ = std::make_unique<std::function<bool(int)>>(std::move(waits_on));
  sqlite3_busy_handler(
      database_,
      [](void* context, int times) {
        return (*static_cast<std::function<bool(int)>*>(context))(times) ? 1 : 0;
      },
      waits_on_.get());
}

}  // namespace gpuprof::store
