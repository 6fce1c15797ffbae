#include "libprof/store/guard.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <mutex>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "libprof/store/functions.hpp"

namespace gpuprof::store {
namespace {

// Steps between two checks of a running statement: some hundredths of a millisecond. In between,
// each step may call a function with a long value.
constexpr int steps_between = 1000;

// All reports together need fewer than 20 steps per byte of the tables they read; a small file has
// some work that does not depend on its size.
constexpr std::int64_t steps_per_byte = 300;
constexpr std::int64_t least_steps = 100'000'000;  // some seconds

// The same limit as CPU time, for what steps do not count: functions on long values. All reports
// together take less than 0.4 us per byte.
constexpr std::int64_t ns_per_byte = 1000;
constexpr std::int64_t least_ns = 20'000'000'000;

// No value is longer than its file, but values of a small file may grow a little in processing.
constexpr std::int64_t least_length = 1 << 20;
constexpr std::int64_t most_length = 1'000'000'000;  // SQLite's own limit
// Length of values that views and the user compute with. Cubins and counter data may be longer;
// only our code reads those.
constexpr std::int64_t longest_of_others = 8 << 20;

// Sorting and grouping hold what they read, at several times its size in the file.
constexpr std::int64_t memory_per_byte = 4;
constexpr std::int64_t least_memory = std::int64_t{1} << 30;

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;  // limit on file sizes against overflow

struct Limit {
  int what, value;
};
// Many times what our tables, views and statements need.
constexpr std::array<Limit, 9> limits{{
    {SQLITE_LIMIT_SQL_LENGTH, 16 << 20},  // a filter lists the ids of all matching kernels
    {SQLITE_LIMIT_EXPR_DEPTH, 200},
    {SQLITE_LIMIT_COMPOUND_SELECT, 100},
    {SQLITE_LIMIT_VDBE_OP, 1'000'000},
    {SQLITE_LIMIT_FUNCTION_ARG, 100},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 2000},  // also limits columns
    {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
}};

// Allowed with an argument; all others only without one.
constexpr std::array<std::string_view, 8> pragmas_with_argument{
    "table_info", "table_xinfo", "table_list",  "index_list",
    "index_info", "quick_check", "index_xinfo", "busy_timeout"};
constexpr std::array<std::string_view, 9> pragmas{
    "page_count",     "page_size", "data_version", "schema_version", "user_version",
    "application_id", "encoding",  "journal_mode", "integrity_check"};

template <std::size_t N>
bool is_listed(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view each) { return same_name(each, name); });
}

// SQLite counts the memory of all connections in the process. The largest file decides the limit,
// so that none is too large to be read alongside a smaller one, unless limit_memory() set a lower
// one. Without files there is only the latter.
class Memory {
 public:
  static Memory& of_process() {
    static Memory memory;
    return memory;
  }
  void need(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    needed_ = std::max(needed_, bytes);
    apply();
  }
  void limit(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    most_ = std::min(most_, bytes);
    apply();
  }

 private:
  void apply() const { sqlite3_hard_heap_limit64(needed_ ? std::min(needed_, most_) : most_); }

  std::mutex mutex_;
  std::int64_t needed_ = 0, most_ = std::numeric_limits<std::int64_t>::max();
};

std::int64_t thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

bool may_ask(std::string_view pragma, bool argument) {
  return is_listed(pragmas_with_argument, pragma) || (!argument && is_listed(pragmas, pragma));
}

}  // namespace

void limit_memory(std::int64_t bytes) { Memory::of_process().limit(bytes); }

bool Guard::Making::allows(int action, std::string_view first, std::string_view second,
                           std::string_view database) {
  const bool table = type_ == "table", index = type_ == "index";
  const bool named = same_name(first, name_) && database == "main";
  switch (action) {
    case SQLITE_CREATE_TABLE:
      asked_ |= table && named;
      // The table that AUTOINCREMENT uses.
      return table && (named || (first == "sqlite_sequence" && database == "main"));
    case SQLITE_CREATE_INDEX:
      asked_ |= index && named;
      return (index && named) ||
             (table && same_name(second, name_) && first.starts_with("sqlite_autoindex_"));
    case SQLITE_CREATE_VIEW: asked_ |= type_ == "view" && named; return type_ == "view" && named;
    case SQLITE_INSERT:
    case SQLITE_UPDATE: return first == "sqlite_master" && database == "main";
    case SQLITE_REINDEX: return index && named;
    case SQLITE_READ: return database == "main";  // columns that are named; there is no SELECT
    case SQLITE_FUNCTION: return view_may_call(second);
    default: return false;
  }
}

// `cause`: the view or common table expression that contains the access.
bool Guard::allows(int action, const char* first, const char* second, const char* database,
                   const char* cause) const {
  const auto text = [](const char* word) { return std::string_view(word ? word : ""); };
  if (making_) return !cause && making_->allows(action, text(first), text(second), text(database));
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ: return true;
    case SQLITE_RECURSIVE: return user_;
    case SQLITE_FUNCTION:
      if (cause && !user_) return view_may_call(text(second));
      return !(cause || asking_) || user_may_call(text(second));
    default: break;
  }
  if (cause || asking_) return false;
  switch (action) {
    case SQLITE_ATTACH: return attaching_;
    case SQLITE_TRANSACTION: return true;
    case SQLITE_PRAGMA:
      return content_ == Content::copied || may_ask(text(first), second != nullptr);
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_INDEX: return true;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_REINDEX:
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_VIEW:
    case SQLITE_DROP_VIEW:
      return text(database) == "temp" || (content_ == Content::copied && text(database) == "main");
    case SQLITE_ALTER_TABLE:  // the first argument is the database
      return content_ == Content::copied && text(first) == "main";
    default: return false;
  }
}

void Guard::protect(sqlite3* connection, Content content, std::int64_t bytes) {
  content_ = content;
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_drop_modules(connection, nullptr);  // leaves no virtual table module
  for (const Limit& limit : limits) sqlite3_limit(connection, limit.what, limit.value);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, content == Content::copied ? 1 : 0);
  bytes = std::min(bytes, most_bytes);
  longest_ = static_cast<int>(std::clamp(bytes, least_length, most_length));
  longest_of_others_ = static_cast<int>(longest_of_others);
  limit_length(connection, longest_);
  Memory::of_process().need(least_memory + bytes * memory_per_byte);
  confine_functions(connection);
  left_ = least_steps + bytes * steps_per_byte;
  left_ns_ = least_ns + bytes * ns_per_byte;
  set_progress(connection);
  sqlite3_set_authorizer(
      connection,
      [](void* context, int action, const char* first, const char* second, const char* database,
         const char* cause) {
        auto& guard = *static_cast<Guard*>(context);
        guard.has_view_ |= cause != nullptr;
        return guard.allows(action, first, second, database, cause) ? SQLITE_OK : SQLITE_DENY;
      },
      this);
}

void Guard::hear_user(bool wholly, bool endless) {
  hears_ = true;
  user_ = wholly;
  if (endless) left_ = left_ns_ = std::numeric_limits<std::int64_t>::max();
}

void Guard::limit_length(sqlite3* connection, int bytes) {
  length_ = bytes;
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, bytes);
}

void Guard::prepares() {
  has_view_ = false;
  if (content_ != Content::ours) before_ns_ = thread_time();
}

void Guard::has_prepared(const sqlite3_stmt* statement) {
  if (statement && (has_view_ || asking_)) of_others_.insert(statement);
}

// Called every `steps_between` steps.
bool Guard::go_on() {
  if (content_ != Content::ours) {
    const std::int64_t now = thread_time();
    left_ -= steps_between;
    left_ns_ -= now - std::exchange(before_ns_, now);
  }
  return !exhausted() && !told_to_stop();
}

void Guard::watch(sqlite3* connection, std::function<bool()> stop) {
  stop_ = std::move(stop);
  set_progress(connection);
}

void Guard::set_progress(sqlite3* connection) {
  sqlite3_progress_handler(
      connection, content_ != Content::ours || stop_ ? steps_between : 0,
      [](void* context) { return static_cast<Guard*>(context)->go_on() ? 0 : 1; }, this);
}

}  // namespace gpuprof::store
