#include "libprof/store/sqlite.hpp"

#include <malloc.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/store/confined_files.hpp"
#include "libprof/store/connection.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/file_header.hpp"
#include "libprof/store/guard.hpp"

namespace gpuprof::store {
using Mode = Database::Mode;

std::string quoted_name(std::string_view name) { return double_quoted(name); }

Statement::Statement(Database& database, std::string_view sql) : connection_(database.connection_) {
  if (connection_->prepare(sql, &statement_, nullptr) != SQLITE_OK) connection_->fail(sql);
}

Statement::~Statement() {
  if (statement_) connection_->guard_.forgets(statement_);
  sqlite3_finalize(statement_);
}

Statement::Statement(Statement&& other) noexcept
    : connection_(std::move(other.connection_)),
      statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement& Statement::bound(int result) {
  if (result != SQLITE_OK) connection_->fail(sqlite3_sql(statement_));
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  return bound(sqlite3_bind_int64(statement_, index, value));
}

Statement& Statement::bind(int index, double value) {
  return bound(sqlite3_bind_double(statement_, index, value));
}

Statement& Statement::bind(int index, std::string_view text) {
  return bound(sqlite3_bind_text64(statement_, index, text.data() ? text.data() : "", text.size(),
                                   SQLITE_TRANSIENT, SQLITE_UTF8));
}

Statement& Statement::bind_blob(int index, std::span<const std::byte> bytes) {
  return bound(sqlite3_bind_blob64(statement_, index,
                                   bytes.empty() ? "" : static_cast<const void*>(bytes.data()),
                                   bytes.size(), SQLITE_TRANSIENT));
}

Statement& Statement::bind_null(int index) { return bound(sqlite3_bind_null(statement_, index)); }

Statement& Statement::bind_column(int index, const Statement& row, int column) {
  return bound(sqlite3_bind_value(statement_, index, sqlite3_column_value(row.statement_, column)));
}

int Statement::parameter(const char* name) const {
  return sqlite3_bind_parameter_index(statement_, name);
}

bool Statement::step() {
  connection_->guard_.runs(connection_->handle_, statement_);
  switch (sqlite3_step(statement_)) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: connection_->fail(sqlite3_sql(statement_));
  }
}

void Statement::run() {
  struct Reset {
    Statement& statement;
    ~Reset() { statement.reset(); }
  } reset_at_end{*this};
  while (step()) {
  }
}

void Statement::reset() { sqlite3_reset(statement_); }

Statement::Type Statement::type(int index) const {
  switch (sqlite3_column_type(statement_, index)) {
    case SQLITE_INTEGER: return Type::integer;
    case SQLITE_FLOAT: return Type::real;
    case SQLITE_TEXT: return Type::text;
    case SQLITE_BLOB: return Type::blob;
    default: return Type::null;
  }
}

int Statement::column_count() const { return sqlite3_column_count(statement_); }

std::string_view Statement::column_name(int index) const {
  return sqlite3_column_name(statement_, index);
}

std::string_view Statement::declared_type(int index) const {
  const char* type = sqlite3_column_decltype(statement_, index);
  return type ? type : std::string_view();
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

Database::Database(const std::string& path, Mode mode, Options options)
    : connection_(std::make_shared<Connection>(path, mode, std::move(options))) {}

Database Database::writer() const {
  Database writer(path(), Mode::read_write, connection_->options_);
  writer.execute("PRAGMA synchronous = OFF");
  writer.execute("PRAGMA secure_delete = OFF");
  if (connection_->waits_on_) writer.when_locked(*connection_->waits_on_);
  return writer;
}

Database Database::reader() const {
  const bool writes = is_ours(mode()) || mode() == Mode::roll_back;
  return Database(path(), writes ? Mode::read_only : mode(), connection_->options_);
}

bool Database::read_file(std::int64_t offset, std::span<std::byte> bytes) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (!file || !file->pMethods) return false;  // in memory
  return file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), offset) ==
         SQLITE_OK;
}

void Database::write_file(std::int64_t offset, std::span<const std::byte> bytes) {
  constexpr std::size_t at_a_time = 65'536;  // SQLite writes no more at once
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  int result = file && file->pMethods ? SQLITE_OK : SQLITE_MISUSE;
  for (std::size_t at = 0; at < bytes.size() && result == SQLITE_OK; at += at_a_time) {
    const auto piece = bytes.subspan(at, std::min(at_a_time, bytes.size() - at));
    result = file->pMethods->xWrite(file, piece.data(), static_cast<int>(piece.size()),
                                    offset + static_cast<std::int64_t>(at));
  }
  if (result == SQLITE_OK) return;
  const bool full = (result & 0xff) == SQLITE_FULL;
  throw DatabaseError(connection_->options_.shown_as + ": " + sqlite3_errstr(result),
                      full ? "free some space and run again" : "", ExitCode::output_failed,
                      DatabaseError::Kind::other);
}

bool Database::keeps_file() {
  // Other modes take no locks.
  const bool locks = mode() != Mode::untouched && mode() != Mode::untouched_with_log;
  FileHeader header;
  return locks && sqlite3_txn_state(handle(), "main") == SQLITE_TXN_READ &&
         read_file(0, std::as_writable_bytes(std::span(header.bytes))) && !header.in_log_mode();
}

const std::string& Database::path() const { return connection_->path_; }
Database::Mode Database::mode() const { return connection_->mode_; }
std::int64_t Database::size() const { return connection_->size_; }
sqlite3* Database::handle() const { return connection_->handle_; }

void Database::execute(const std::string& sql) { connection_->execute(sql); }

// Whether every view of the file only holds records: then functions in a view or a WITH clause are
// the user's, or harmless.
bool Database::views_are_harmless() {
  auto& known = connection_->harmless_views_;
  const std::int64_t version = integer("PRAGMA main.schema_version").value_or(0);
  if (!known || known->first != version) known = {version, look_into_views()};
  return known->second;
}

bool Database::look_into_views() {
  constexpr int most = 1000;  // each takes some hundredths of a millisecond
  std::vector<std::string> views;
  Statement list(*this, "SELECT name, sql FROM main.sqlite_master WHERE type = 'view' LIMIT ?1");
  list.bind(1, std::int64_t{most});
  int count = 0;
  for (; list.step(); ++count) {
    // Text of ours need not be looked into; the views that it reads are in the list.
    if (!is_own_view(list.text(0), list.text(1))) views.emplace_back(list.text(0));
  }
  return count < most && std::ranges::all_of(views, [&](const std::string& view) {
           sqlite3_stmt* statement = nullptr;
           const std::string sql = "SELECT * FROM main." + quoted_name(view);
           const int result = sqlite3_prepare_v2(handle(), sql.c_str(), -1, &statement, nullptr);
           const std::string_view said = sqlite3_errmsg(handle());
           sqlite3_finalize(statement);
           return result == SQLITE_OK ||
                  (result == SQLITE_ERROR && !said.starts_with("not authorized"));
         });
}

Statement Database::ask(std::string_view sql, bool endless) {
  Connection& connection = *connection_;
  connection.guard_.hear_user(false, endless);
  connection.guard_.hear_user(views_are_harmless(), endless);
  const auto refuse = [](const std::string& why) {
    throw Error(why, "one SELECT, or WITH ... SELECT; gpuprof schema describes the views",
                ExitCode::bad_option);
  };
  if (sql.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) refuse("too long");
  if (sql.find('\0') != sql.npos) refuse("there is a NUL in it, where SQLite would stop");
  const auto asking = connection.guard_.asking();
  Statement question;
  question.connection_ = connection_;
  while (!sql.empty()) {
    Statement next;
    next.connection_ = connection_;
    const char* rest = nullptr;
    switch (connection.prepare(sql, &next.statement_, &rest) & 0xff) {
      case SQLITE_OK: break;
      case SQLITE_AUTH: refuse("only questions are answered: nothing is changed or opened"); break;
      case SQLITE_ERROR:
      case SQLITE_RANGE:
      case SQLITE_MISMATCH:
      case SQLITE_TOOBIG: refuse(sqlite3_errmsg(handle())); break;
      default: connection.fail(sql);
    }
    if (next.statement_ && question.statement_) refuse("one statement at a time");
    if (next.statement_) question = std::move(next);
    sql.remove_prefix(static_cast<std::size_t>(rest - sql.data()));
  }
  if (!question.statement_) refuse("there is no SQL statement");
  if (question.column_count() == 0 || !sqlite3_stmt_readonly(question.statement_)) {
    refuse("only questions are answered: this statement gives no rows");
  }
  return question;
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
                      "SELECT 1 FROM sqlite_master WHERE name = ?1 COLLATE NOCASE "
                      "AND type IN ('table', 'view')");
  statement.bind(1, name);
  return statement.step();
}

void Database::rebuild(std::int64_t page_size) {
  execute("PRAGMA page_size = " + std::to_string(page_size));
  connection_->files_->offer();
  try {
    execute("VACUUM");
  } catch (const Error&) {
    connection_->files_->withdraw();
    throw;
  }
  connection_->files_->withdraw();
}

std::size_t Database::changes() const {
  return static_cast<std::size_t>(sqlite3_changes(handle()));
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle()) == 0; }

void Database::release_memory() {
  sqlite3_db_release_memory(handle());
  malloc_trim(0);
}

// PRAGMA statements, not the table-valued functions of the same names, which a table could hide.
std::vector<Database::Column> Database::columns(std::string_view table, std::string_view schema) {
  std::vector<Column> columns;
  Statement rows(*this,
                 "PRAGMA " + quoted_name(schema) + ".table_xinfo(" + quoted_name(table) + ")");
  while (rows.step()) {
    const std::int64_t hidden = rows.integer(6);  // 2 and 3: computed
    if (hidden != 1) columns.push_back({std::string(rows.text(1)), hidden != 0});
  }
  return columns;
}

bool Database::has_column(std::string_view table, std::string_view column,
                          std::string_view schema) {
  const auto all = columns(table, schema);
  return find_named(all, column) != nullptr;
}

bool Database::has_columns(std::string_view table, std::initializer_list<std::string_view> names) {
  const auto all = columns(table);
  return std::ranges::all_of(
      names, [&](std::string_view name) { return find_named(all, name) != nullptr; });
}

bool Database::has_index(std::string_view table, std::string_view column) {
  std::vector<std::string> whole;
  Statement indexes(*this, "PRAGMA main.index_list(" + quoted_name(table) + ")");
  while (indexes.step()) {
    const bool partial = indexes.integer(4) != 0;
    if (!partial) whole.emplace_back(indexes.text(1));
  }
  return std::ranges::any_of(whole, [&](const std::string& index) {
    Statement columns(*this, "PRAGMA main.index_info(" + quoted_name(index) + ")");
    return columns.step() && same_name(columns.text(2), column);
  });
}

void Database::take_in(const Database& other) {
  // Leaves room for tables that the other file lacks, for its indexes, and for partly filled pages.
  const std::int64_t most_bytes = 4 * other.size() + (64 << 20);
  const std::int64_t page = integer("PRAGMA page_size").value_or(4096);
  execute("PRAGMA main.max_page_count = " + std::to_string(most_bytes / page));
  execute("PRAGMA cell_size_check = ON");
  execute("PRAGMA ignore_check_constraints = ON");  // they are the other file's
  connection_->guard_.protect(handle(), Guard::Content::copied, other.size());
}

void Database::attach(const Database& other, const std::string& name) {
  take_in(other);
  Connection& connection = *connection_;
  const Mode mode = other.mode();
  auto files = std::make_unique<ConfinedFiles>(base_vfs(mode), other.connection_->options_.damaged);
  if (mode == Mode::untouched_with_log) read_log_alone(connection.handle_);
  {
    const auto attaching = connection.guard_.attaching();
    Statement attach = prepare("ATTACH ?1 AS " + name);
    attach.bind(1, uri(other.path(), mode, files->name())).run();
    connection.attached_file_.emplace(other.path());
  }
  files->withdraw();
  connection.attached_files_ = std::move(files);
}

bool Database::make(std::string_view type, std::string_view name, const ForeignSql& sql) {
  Connection& connection = *connection_;
  if (connection.guard_.content() != Guard::Content::copied) {
    throw Error("there is no copied content to take in");
  }
  const auto there = [&] {
    Statement found(*this, "SELECT 1 FROM main.sqlite_master WHERE name = ?1 COLLATE NOCASE");
    return found.bind(1, name).step();
  };
  if (there()) return false;
  const std::string& text = sql.text();
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
  try {
    const Guard::Making making(connection.guard_, type, name);
    Statement statement;
    statement.connection_ = connection_;
    const char* rest = nullptr;
    if (connection.prepare(text, &statement.statement_, &rest) != SQLITE_OK) connection.fail(text);
    const bool all = rest == text.data() + text.size();
    if (!all || !making.asked() || sqlite3_stmt_isexplain(statement.statement_)) return false;
    statement.run();
  } catch (const DatabaseError& error) {
    using Kind = DatabaseError::Kind;
    const bool of_the_text = error.kind() == Kind::other || error.kind() == Kind::missing ||
                             error.kind() == Kind::refused;
    if (!of_the_text || connection.guard_.exhausted()) throw;
    return false;
  }
  return there();
}

void Database::check_watch() const {
  if (!connection_->guard_.told_to_stop()) return;
  throw DatabaseError(connection_->options_.shown_as + ": interrupted", "", ExitCode::internal,
                      DatabaseError::Kind::interrupted);
}

void Database::watch(std::function<bool()> stop) {
  connection_->guard_.watch(connection_->handle_, std::move(stop));
}

void Database::sort_with_threads(int count) {
  sqlite3_limit(handle(), SQLITE_LIMIT_WORKER_THREADS, count);
}

void Database::when_locked(std::function<bool(int)> waits_on) {
  auto& kept = connection_->waits_on_;
  kept = std::make_unique<std::function<bool(int)>>(std::move(waits_on));
  sqlite3_busy_handler(
      handle(),
      [](void* context, int times) {
        return (*static_cast<std::function<bool(int)>*>(context))(times) ? 1 : 0;
      },
      kept.get());
}

}  // namespace gpuprof::store
