#include "libprof/store/sqlite.hpp"

#include <sqlite3.h>

#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof::store {
namespace {

[[noreturn]] void fail(sqlite3* database, const std::string& path, std::string_view sql) {
  std::string message = path + ": " + (database ? sqlite3_errmsg(database) : "out of memory");
  std::string hint;
  const int code = database ? sqlite3_errcode(database) : SQLITE_NOMEM;
  auto exit_code = ExitCode::output_failed;
  switch (code) {
    case SQLITE_FULL:
      hint = "free some space and run again; what was committed before stays readable";
      break;
    case SQLITE_CANTOPEN: hint = "check that the folder exists and may be written to"; break;
    case SQLITE_NOTADB:
      hint = "it is not an SQLite database";
      exit_code = ExitCode::import_failed;
      break;
    case SQLITE_BUSY: hint = "another process writes to it"; break;
    default:
      if (!sql.empty()) message += " in: " + std::string(sql.substr(0, 200));
  }
  throw Error(message, hint, exit_code);
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

Database::Database(const std::string& path, Mode mode) : path_(path) {
  int flags = SQLITE_OPEN_NOMUTEX;
  switch (mode) {
    case Mode::read_only: flags |= SQLITE_OPEN_READONLY; break;
    case Mode::read_write: flags |= SQLITE_OPEN_READWRITE; break;
    case Mode::create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
  }
  if (sqlite3_open_v2(path.c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    sqlite3* database = std::exchange(database_, nullptr);
    try {
      fail(database, path, {});
    } catch (...) {
      sqlite3_close_v2(database);
      throw;
    }
  }
  sqlite3_busy_timeout(database_, 10'000);
}

Database::~Database() { sqlite3_close_v2(database_); }

Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)), database_(std::exchange(other.database_, nullptr)) {}

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

}  // namespace gpuprof::store
