#include "libprof/store/scan.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::store {
namespace {

constexpr unsigned most_threads = 8;
constexpr int most_attempts = 5;

// SELECT of these columns; with a row id's name, only rows ?1 to ?2 in that order.
std::string select(const std::string& table, const std::string& columns,
                   const std::string& row_id) {
  std::string sql = "SELECT " + columns + " FROM main." + quoted_name(table);
  if (row_id.empty()) return sql;
  // NOT INDEXED: no index may replace the row ids.
  return sql + " NOT INDEXED WHERE " + row_id + " BETWEEN ?1 AND ?2 ORDER BY " + row_id;
}

}  // namespace

// Not by "PRAGMA table_list", for which SQLite compiles all views of the file.
std::string row_id_name(Database& database, const std::string& table) {
  // A virtual table has no page.
  auto stored = database.prepare(
      "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0"
      " AND name = ?1 COLLATE NOCASE");
  if (!stored.bind(1, table).step()) return {};
  const auto columns = database.columns(table);
  for (const char* name : {"_rowid_", "rowid", "oid"}) {
    // An error if the table is WITHOUT ROWID.
    if (!find_named(columns, name) &&
        sqlite3_table_column_metadata(database.handle(), "main", table.c_str(), name, nullptr,
                                      nullptr, nullptr, nullptr, nullptr) == SQLITE_OK) {
      return name;
    }
  }
  return {};
}

RowReading::RowReading(Database& database, bool own, const std::string& table,
                       const std::vector<std::string>& columns, const std::string& row_id,
                       Visit visit)
    : own_(own), visit_(std::move(visit)), values_(columns.size()) {
  const std::string list = joined(columns, ", ");
  if (!own) {
    statement_ = database.prepare(select(table, list, row_id));
    return;
  }
  sqlite3_create_function_v2(
      database.handle(), "gpuprof_visit", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, this, nullptr,
      [](sqlite3_context* call, int, sqlite3_value** values) {
        auto& self = *static_cast<RowReading*>(sqlite3_user_data(call));
        if (!self.take(values)) sqlite3_result_error(call, "stopped", -1);
      },
      [](sqlite3_context*) {}, nullptr);
  statement_ = database.prepare(select(table, "gpuprof_visit(" + list + ")", row_id));
}

void RowReading::read_all() {
  try {
    while (statement_.step() && !own_) {
      for (std::size_t i = 0; i < values_.size(); ++i) {
        values_[i] = sqlite3_column_value(statement_.handle(), static_cast<int>(i));
      }
      if (!take(values_.data())) break;
    }
  } catch (const Error&) {
    if (!thrown_) throw;  // otherwise `visit` is why SQLite stopped
  }
  statement_.reset();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void RowReading::read(std::int64_t first, std::int64_t last) {
  statement_.bind(1, first).bind(2, last);
  read_all();
}

// False: `visit` has thrown.
bool RowReading::take(sqlite3_value** values) {
  try {
    visit_(ScannedRow(values));
    return true;
  } catch (...) {
    thrown_ = std::current_exception();
    return false;
  }
}

ValueType ScannedRow::type(int index) const {
  switch (sqlite3_value_type(values_[index])) {
    case SQLITE_INTEGER: return ValueType::integer;
    case SQLITE_FLOAT: return ValueType::real;
    case SQLITE_TEXT: return ValueType::text;
    case SQLITE_BLOB: return ValueType::blob;
    default: return ValueType::null;
  }
}

bool ScannedRow::is_null(int index) const {
  return sqlite3_value_type(values_[index]) == SQLITE_NULL;
}

std::int64_t ScannedRow::integer(int index) const { return sqlite3_value_int64(values_[index]); }

double ScannedRow::real(int index) const { return sqlite3_value_double(values_[index]); }

std::string_view ScannedRow::text(int index) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values_[index]));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values_[index]));
  return text ? std::string_view(text, size) : std::string_view();
}

std::span<const std::byte> ScannedRow::blob(int index) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_value_blob(values_[index]));
  return {bytes, static_cast<std::size_t>(sqlite3_value_bytes(values_[index]))};
}

Snapshot::Snapshot(Database& database, SnapshotOptions options) : database_(database) {
  if (!sqlite3_get_autocommit(database.handle())) return;
  const std::int64_t size = database.integer("PRAGMA page_count").value_or(0) *
                            database.integer("PRAGMA page_size").value_or(0);
  const unsigned wanted = options.threads
                              ? options.threads
                              : std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  // An unfinished statement holds on to an older state.
  const bool idle = sqlite3_txn_state(database.handle(), "main") == SQLITE_TXN_NONE;
  if (idle && size >= options.parallel_from_bytes) open_readers(wanted, options.twice);
  if (readers_.empty()) database.execute("BEGIN");
  own_transaction_ = true;
}

bool Snapshot::in_file() {
  // The transaction begins, and takes its lock, with the first access to the file.
  if (own_transaction_ && readers_.empty()) database_.integer("PRAGMA data_version");
  if (!own_transaction_) return false;
  for (std::size_t i = 0; i < threads(); ++i) {
    if (!reader(i).keeps_file()) return false;
  }
  return true;
}

Snapshot::Snapshot(std::unique_ptr<Database> database, std::vector<Database> readers)
    : held_(std::move(database)),
      database_(*held_),
      own_transaction_(true),
      readers_(std::move(readers)) {}

Snapshot::~Snapshot() {
  other_.reset();
  readers_.clear();
  try {
    if (own_transaction_) database_.execute("COMMIT");
  } catch (const Error&) {
    // Nothing was written; closing the database also ends the transaction.
  }
}

// The database's data version changes when another connection commits. If it is the same before and
// after all transactions began, they all see the same state.
void Snapshot::open_readers(std::size_t count, bool twice) {
  const char* path = sqlite3_db_filename(database_.handle(), "main");
  if (path == nullptr || *path == '\0') return;  // in memory
  const auto moved = [](Database& database) {
    int result = 0;
    sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &result);
    return result != 0;
  };
  const auto version = [](Database& database) { return database.integer("PRAGMA data_version"); };
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    try {
      const auto before = version(database_);
      for (std::size_t i = 0; i < (twice ? 2 * count + 1 : count); ++i) {
        Database& reader = readers_.emplace_back(database_.reader());
        // A writer may be waiting for one of our readers and keep the next one out.
        reader.execute("PRAGMA busy_timeout = 100");
        reader.execute("BEGIN");
        version(reader);  // the state is fixed by the first access to the file
      }
      database_.execute("BEGIN");
      if (version(database_) == before && !moved(database_) &&
          std::ranges::none_of(readers_, moved)) {
        if (twice) split(count);
        return;
      }
    } catch (const Error&) {
      // Locked, or gone.
    }
    readers_.clear();
    if (!sqlite3_get_autocommit(database_.handle())) database_.execute("ROLLBACK");
  }
}

// The readers after these are the other snapshot's.
void Snapshot::split(std::size_t count) {
  const auto rest = readers_.begin() + static_cast<std::ptrdiff_t>(count);
  auto database = std::make_unique<Database>(std::move(*rest));
  std::vector<Database> readers(std::make_move_iterator(rest + 1),
                                std::make_move_iterator(readers_.end()));
  readers_.erase(rest, readers_.end());
  other_.reset(new Snapshot(std::move(database), std::move(readers)));
}

}  // namespace gpuprof::store
