#include "libprof/store/scan.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::store {
namespace {

constexpr unsigned most_threads = 8;
constexpr int most_attempts = 5;
constexpr std::uint64_t most_ranges = 256;
constexpr std::uint64_t smallest_range = 16384;

// How rows of a table can be told apart.
struct RowIds {
  std::string name;  // for SQL
  bool none = true;  // the table is empty
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Deals out a table's row ids, in ranges of equal width. Any thread may ask.
class Ranges {
 public:
  explicit Ranges(const RowIds& all)
      : first_(static_cast<std::uint64_t>(all.first)),
        width_(static_cast<std::uint64_t>(all.last) - first_),
        step_(std::max(width_ / most_ranges + 1, smallest_range)) {}

  std::size_t count() const { return width_ / step_ + 1; }

  std::optional<Range> next() {
    const std::uint64_t number = next_++;
    if (number >= count()) return std::nullopt;
    const std::uint64_t begin = number * step_;
    const std::uint64_t end = begin + std::min(step_ - 1, width_ - begin);
    return Range{static_cast<std::int64_t>(first_ + begin),
                 static_cast<std::int64_t>(first_ + end)};
  }

 private:
  std::uint64_t first_, width_, step_;  // unsigned: ids may be far apart
  std::atomic<std::uint64_t> next_ = 0;
};

// Nothing: there are no row ids, as in views, or none can be asked for.
std::optional<RowIds> find_row_ids(Database& database, const std::string& table) {
  RowIds ids{.name = row_id_name(database, table)};
  if (ids.name.empty()) return std::nullopt;
  // One by one: SQLite reads the whole table for both at once.
  const auto ask = [&](const char* function) {
    return database.integer("SELECT " + (function + ("(" + ids.name + ")")) + " FROM " +
                            quoted_name(table) + " NOT INDEXED");
  };
  if (const auto first = ask("min")) {
    ids.none = false;
    ids.first = *first;
    ids.last = *ask("max");
  }
  return ids;
}

// SELECT of these, with values bound. With a row id's name only rows from :first_row to :last_row,
// in that order.
Statement select(Database& database, const Selection& selection, const std::string& row_id) {
  std::string sql =
      "SELECT " + joined(selection.columns, ", ") + " FROM " + quoted_name(selection.table);
  if (!row_id.empty()) sql += " NOT INDEXED";  // no index in place of the ranges
  sql += " WHERE " + (selection.where.empty() ? "1" : "(" + selection.where + ")");
  if (!row_id.empty()) {
    sql += " AND " + row_id + " BETWEEN :first_row AND :last_row ORDER BY " + row_id;
  }
  Statement statement = database.prepare(sql);
  int index = 0;
  for (const Value& value : selection.values) {
    ++index;
    std::visit([&](const auto& plain) { statement.bind(index, plain); }, value);
  }
  return statement;
}

}  // namespace

std::string row_id_name(Database& database, const std::string& table) {
  // A temporary table of that name hides the one in the file.
  int tables = 0;
  bool has_ids = false;
  auto list = database.prepare("PRAGMA table_list(" + quoted_name(table) + ")");
  while (list.step()) {
    ++tables;
    const bool without_rowid = list.integer(4) != 0;
    has_ids = list.text(0) == "main" && list.text(2) == "table" && !without_rowid;
  }
  if (tables != 1 || !has_ids) return {};
  const auto columns = database.columns(table);
  for (const std::string_view name : {"_rowid_", "rowid", "oid"}) {
    if (std::ranges::none_of(columns, [&](const Database::Column& column) {
          return same_name(column.name, name);
        })) {
      return std::string(name);
    }
  }
  return {};
}

RowReading::RowReading(Database& database, bool own, const Selection& selection,
                       const std::string& row_id, Visit visit)
    : own_(own), visit_(std::move(visit)), values_(selection.columns.size()) {
  if (!own) {
    statement_ = select(database, selection, row_id);
    return;
  }
  sqlite3_create_function_v2(
      database.handle(), "gpuprof_visit", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, this, nullptr,
      [](sqlite3_context* call, int, sqlite3_value** values) {
        auto& self = *static_cast<RowReading*>(sqlite3_user_data(call));
        if (!self.take(values)) sqlite3_result_error(call, "stopped", -1);
      },
      [](sqlite3_context*) {}, nullptr);
  Selection visited = selection;
  visited.columns = {"gpuprof_visit(" + joined(selection.columns, ", ") + ")"};
  statement_ = select(database, visited, row_id);
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
    if (!thrown_) throw;  // else that is why SQLite stopped
  }
  statement_.reset();
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void RowReading::read(std::int64_t first, std::int64_t last) {
  sqlite3_stmt* handle = statement_.handle();
  statement_.bind(sqlite3_bind_parameter_index(handle, ":first_row"), first);
  statement_.bind(sqlite3_bind_parameter_index(handle, ":last_row"), last);
  read_all();
}

// False: `visit` has thrown.
bool RowReading::take(sqlite3_value** values) {
  try {
    visit_(Row(values));
    return true;
  } catch (...) {
    thrown_ = std::current_exception();
    return false;
  }
}

ValueType Row::type(int index) const {
  switch (sqlite3_value_type(values_[index])) {
    case SQLITE_INTEGER: return ValueType::integer;
    case SQLITE_FLOAT: return ValueType::real;
    case SQLITE_TEXT: return ValueType::text;
    case SQLITE_BLOB: return ValueType::blob;
    default: return ValueType::null;
  }
}

bool Row::is_null(int index) const { return sqlite3_value_type(values_[index]) == SQLITE_NULL; }

std::int64_t Row::integer(int index) const { return sqlite3_value_int64(values_[index]); }

double Row::real(int index) const { return sqlite3_value_double(values_[index]); }

std::string_view Row::text(int index) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values_[index]));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values_[index]));
  return text ? std::string_view(text, size) : std::string_view();
}

std::span<const std::byte> Row::blob(int index) const {
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
  // A statement that is not finished holds on to an older state.
  const bool idle = sqlite3_txn_state(database.handle(), "main") == SQLITE_TXN_NONE;
  if (idle && size >= options.parallel_from_bytes) open_readers(wanted);
  if (readers_.empty()) database.execute("BEGIN");
  own_transaction_ = true;
}

bool Snapshot::in_file() {
  // A transaction begins, and the lock is taken, with the first look at the file.
  if (own_transaction_ && readers_.empty()) database_.integer("PRAGMA data_version");
  if (!own_transaction_) return false;
  for (std::size_t i = 0; i < threads(); ++i) {
    if (!reader(i).keeps_file()) return false;
  }
  return true;
}

Snapshot::~Snapshot() {
  readers_.clear();
  try {
    if (own_transaction_) database_.execute("COMMIT");
  } catch (const Error&) {
    // Nothing was written; closing the database ends the transaction too.
  }
}

// The database's data version changes when another connection commits. When it is the same before
// and after all transactions began, they began in the same state.
void Snapshot::open_readers(std::size_t count) {
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
      for (std::size_t i = 0; i < count; ++i) {
        Database& reader = readers_.emplace_back(database_.reader());
        // A writer may wait for one of us and keep the next one out.
        reader.execute("PRAGMA busy_timeout = 100");
        reader.execute("BEGIN");
        version(reader);  // the state is chosen with the first look at the file
      }
      database_.execute("BEGIN");
      if (version(database_) == before && !moved(database_) &&
          std::ranges::none_of(readers_, moved)) {
        return;
      }
    } catch (const Error&) {
      // Locked, or gone.
    }
    readers_.clear();
    if (!sqlite3_get_autocommit(database_.handle())) database_.execute("ROLLBACK");
  }
}

void Snapshot::run(const Selection& selection, Visitor visit, std::span<void* const> contexts) {
  const auto ids = find_row_ids(database_, selection.table);
  if (!ids) {
    RowReading(database_, false, selection, {}, [&](Row row) {
      visit(contexts[0], row);
    }).read_all();
    return;
  }
  if (ids->none) return;
  Ranges ranges(*ids);
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&](std::size_t i) {
    try {
      RowReading reading(reader(i), has_own_readers(), selection, ids->name,
                         [&](Row row) { visit(contexts[i], row); });
      while (!stop) {
        const auto range = ranges.next();
        if (!range) break;
        reading.read(range->first, range->last);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
      stop = true;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min(threads(), ranges.count()); ++i) {
        others.emplace_back(work, i);
      }
    } catch (const std::system_error&) {
      // Fewer threads then.
    }
    work(0);
  }
  if (thrown) std::rethrow_exception(thrown);
}

void TimeTotal::add(std::int64_t duration) {
  min = count == 0 ? duration : std::min(min, duration);
  max = count == 0 ? duration : std::max(max, duration);
  ++count;
  sum = saturating_add(sum, duration);
}

void TimeTotal::add(const TimeTotal& other) {
  if (other.count == 0) return;
  min = count == 0 ? other.min : std::min(min, other.min);
  max = count == 0 ? other.max : std::max(max, other.max);
  count += other.count;
  sum = saturating_add(sum, other.sum);
  durations.insert(durations.end(), other.durations.begin(), other.durations.end());
}

TimeTotals totals_by_key(Snapshot& snapshot, const std::string& table,
                         const TimeTotalsOptions& options) {
  // Keys are ids counted from 0, nearly always.
  struct Part {
    std::vector<TimeTotal> small;
    TimeTotals all;

    TimeTotal& total(std::int64_t key) {
      if (static_cast<std::uint64_t>(key) >= small.size()) {
        if (key < 0 || key >= 1 << 16) return all.by_key[key];
        small.resize(key + 1);
      }
      return small[key];
    }
  };
  const bool durations = options.durations;
  auto parts = snapshot.scan<Part>(
      {.table = table,
       .columns = {options.key, options.start, options.end},
       .where = options.where,
       .values = options.values},
      [durations](Part& part, Row row) {
        const std::int64_t key = row.integer(0), start = row.integer(1), end = row.integer(2);
        if (start > 0 && end > start) {
          TimeTotal& total = part.total(key);
          total.add(end - start);
          if (durations) total.durations.push_back(end - start);
        } else if (start > 0 && end == start) {
          ++part.all.instant[key];
        } else if (start == 0 || end == 0) {
          ++part.all.without_times;
        } else {
          ++part.all.invalid;
        }
      });
  TimeTotals totals;
  for (const Part& part : parts) {
    for (std::size_t key = 0; key < part.small.size(); ++key) {
      if (part.small[key].count > 0) totals.by_key[key].add(part.small[key]);
    }
    for (const auto& [key, total] : part.all.by_key) totals.by_key[key].add(total);
    for (const auto& [key, count] : part.all.instant) totals.instant[key] += count;
    totals.without_times += part.all.without_times;
    totals.invalid += part.all.invalid;
  }
  return totals;
}

}  // namespace gpuprof::store
