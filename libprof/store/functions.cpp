#include "libprof/store/functions.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/text.hpp"

namespace gpuprof::store {
namespace {

// Separated by spaces, in lower case.
constexpr std::string_view of_views =
    " abs avg coalesce count date datetime hex ifnull iif instr julianday length lower ltrim "
    "max min nullif round rtrim sign strftime substr substring sum time total trim typeof "
    "unicode upper ";

constexpr std::string_view of_users =
    " -> ->> acos acosh asin asinh atan atan2 atanh ceil ceiling changes char concat "
    "concat_ws cos cosh cume_dist current_date current_time current_timestamp degrees "
    "dense_rank exp first_value floor format glob group_concat if json json_array "
    "json_array_length json_extract json_group_array json_group_object json_object "
    "json_quote json_type json_valid lag last_value lead like likelihood likely ln log log10 "
    "log2 median mod nth_value ntile octet_length percent_rank percentile percentile_cont "
    "percentile_disc pi pow power printf quote radians random randomblob rank replace "
    "row_number sin sinh sqlite_version sqrt string_agg tan tanh timediff trunc unhex "
    "unixepoch unlikely zeroblob ";

bool is_one_of(std::string_view names, std::string_view name) {
  return names.find(' ' + lower(name) + ' ') != names.npos;
}

using Function = void (*)(sqlite3_context*, int, sqlite3_value**);

bool is_null(sqlite3_value* value) { return sqlite3_value_type(value) == SQLITE_NULL; }

std::string_view text_of(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text ? std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)))
              : std::string_view();
}

std::string_view blob_of(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  return bytes ? std::string_view(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value)))
               : std::string_view();
}

// Linear in both lengths; std::string_view::find takes their product.
std::size_t find(std::string_view text, std::string_view part, std::size_t from = 0) {
  if (from > text.size()) return text.npos;
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data())
               : text.npos;
}

void instr(sqlite3_context* call, int, sqlite3_value** values) {
  if (is_null(values[0]) || is_null(values[1])) return;
  const bool bytes =
      sqlite3_value_type(values[0]) == SQLITE_BLOB && sqlite3_value_type(values[1]) == SQLITE_BLOB;
  const auto read = bytes ? blob_of : text_of;
  const std::string_view text = read(values[0]), part = read(values[1]);
  const std::size_t at = part.empty() ? 0 : find(text, part);
  if (at == text.npos) return sqlite3_result_int(call, 0);
  const std::string_view before = text.substr(0, at);
  const auto inside = bytes ? 0 : std::ranges::count_if(before, continues_character);
  sqlite3_result_int64(call, static_cast<std::int64_t>(at) - inside + 1);
}

// The set of characters that trim() removes.
class Characters {
 public:
  explicit Characters(std::string_view text) {
    while (!text.empty()) {
      const std::string_view next = first(text);
      next.size() == 1 ? void(bytes_[static_cast<unsigned char>(next[0])] = true)
                       : void(longer_.insert(next));
      text.remove_prefix(next.size());
    }
  }
  bool have(std::string_view character) const {
    return character.size() == 1 ? bytes_[static_cast<unsigned char>(character[0])]
                                 : longer_.contains(character);
  }

  static std::string_view first(std::string_view text) {
    std::size_t size = 1;
    while (leads(text[0]) && size < longest && size < text.size() &&
           continues_character(text[size])) {
      ++size;
    }
    return text.substr(0, size);
  }
  static std::string_view last(std::string_view text) {
    for (std::size_t size = 2; size <= std::min(longest, text.size()); ++size) {
      const std::size_t at = text.size() - size;
      if (!continues_character(text[at + 1])) break;
      if (leads(text[at])) return text.substr(at);
    }
    return text.substr(text.size() - 1);
  }

 private:
  static constexpr std::size_t longest = 4;
  static bool leads(char byte) { return static_cast<unsigned char>(byte) >= 0xc0; }

  std::array<bool, 256> bytes_{};
  std::set<std::string_view> longer_;
};

template <bool left, bool right>
void trim(sqlite3_context* call, int, sqlite3_value** values) {
  if (is_null(values[0]) || is_null(values[1])) return;
  std::string_view text = text_of(values[0]);
  const Characters characters(text_of(values[1]));
  while (left && !text.empty() && characters.have(Characters::first(text))) {
    text.remove_prefix(Characters::first(text).size());
  }
  while (right && !text.empty() && characters.have(Characters::last(text))) {
    text.remove_suffix(Characters::last(text).size());
  }
  sqlite3_result_text64(call, text.data() ? text.data() : "", text.size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
}

void replace(sqlite3_context* call, int, sqlite3_value** values) {
  if (is_null(values[0]) || is_null(values[1]) || is_null(values[2])) return;
  const std::string_view text = text_of(values[0]), part = text_of(values[1]),
                         other = text_of(values[2]);
  if (part.empty()) return sqlite3_result_value(call, values[0]);
  const int most = sqlite3_limit(sqlite3_context_db_handle(call), SQLITE_LIMIT_LENGTH, -1);
  std::string result;
  std::size_t at = 0;
  for (std::size_t found; (found = find(text, part, at)) != text.npos; at = found + part.size()) {
    result.append(text, at, found - at) += other;
    if (result.size() > static_cast<std::size_t>(most)) return sqlite3_result_error_toobig(call);
  }
  result.append(text, at);
  sqlite3_result_text64(call, result.data(), result.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// SQLite's printf() with limits on what a format may request: "%.9999999g" produces that many
// digits and then removes them, so a long format costs the product.
class Printf {
 public:
  Printf() {
    if (sqlite3_open(":memory:", &database_) == SQLITE_OK) {
      sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, longest_text);
    }
  }
  ~Printf() {
    for (sqlite3_stmt* each : statements_) sqlite3_finalize(each);
    sqlite3_close(database_);
  }
  Printf(const Printf&) = delete;
  Printf& operator=(const Printf&) = delete;

  void call(sqlite3_context* call, int count, sqlite3_value** values) {
    if (count == 0 || is_null(values[0])) return;
    if (text_of(values[0]).size() > longest_format) {
      return sqlite3_result_error(call, "printf() takes a format of 1,000 bytes at most", -1);
    }
    sqlite3_stmt* const statement = of(static_cast<std::size_t>(count));
    int result = statement ? SQLITE_OK : SQLITE_NOMEM;
    for (int i = 0; i < count && result == SQLITE_OK; ++i) {
      result = sqlite3_bind_value(statement, i + 1, values[i]);
    }
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_NULL) {
      sqlite3_result_error_toobig(call);  // SQLite reports nothing more specific
    } else if (result == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, 0));
      sqlite3_result_text64(call, text + 1, size - 1, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else {
      sqlite3_result_error_code(call, result);
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }

 private:
  static constexpr std::size_t longest_format = 1000;
  static constexpr int longest_text = 1 << 20;

  sqlite3_stmt* of(std::size_t count) {
    if (statements_.size() <= count) statements_.resize(count + 1);
    sqlite3_stmt*& statement = statements_[count];
    if (!statement) {
      std::string sql = "SELECT printf('.' || ?";  // the dot keeps it from being empty
      for (std::size_t i = 1; i < count; ++i) sql += ",?";
      sqlite3_prepare_v2(database_, (sql + ")").c_str(), -1, &statement, nullptr);
    }
    return statement;
  }

  sqlite3* database_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;  // by number of arguments
};

void print(sqlite3_context* call, int count, sqlite3_value** values) {
  auto& printer = *static_cast<std::unique_ptr<Printf>*>(sqlite3_user_data(call));
  if (!printer) printer = std::make_unique<Printf>();
  printer->call(call, count, values);
}

// No exception may pass through SQLite.
template <Function function>
void guarded(sqlite3_context* call, int count, sqlite3_value** values) {
  try {
    function(call, count, values);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(call);
  }
}

struct Replaced {
  const char* name;
  int arguments;
  Function function;
};
constexpr std::array<Replaced, 5> replaced{{{"instr", 2, guarded<instr>},
                                            {"trim", 2, guarded<trim<true, true>>},
                                            {"ltrim", 2, guarded<trim<true, false>>},
                                            {"rtrim", 2, guarded<trim<false, true>>},
                                            {"replace", 3, guarded<replace>}}};

// All SQLite functions that may not be called, with their argument counts.
std::vector<std::pair<std::string, int>> find_refused(sqlite3* connection) {
  std::vector<std::pair<std::string, int>> refused;
  sqlite3_stmt* list = nullptr;
  sqlite3_prepare_v2(connection, "PRAGMA function_list", -1, &list, nullptr);
  while (sqlite3_step(list) == SQLITE_ROW) {
    const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(list, 0));
    if (name && !user_may_call(name)) refused.emplace_back(name, sqlite3_column_int(list, 4));
  }
  sqlite3_finalize(list);
  return refused;
}

// Uses the wording of SQLite's authorizer.
void refuse(sqlite3_context* call, int, sqlite3_value**) {
  const auto& name = *static_cast<const std::string*>(sqlite3_user_data(call));
  sqlite3_result_error(call, ("not authorized to use function: " + name).c_str(), -1);
}

}  // namespace

bool view_may_call(std::string_view function) { return is_one_of(of_views, function); }

bool user_may_call(std::string_view function) {
  return view_may_call(function) || is_one_of(of_users, function);
}

void confine_functions(sqlite3* connection) {
  static auto refused = find_refused(connection);
  constexpr int direct = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
  constexpr int kind = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  for (auto& [name, arguments] : refused) {
    sqlite3_create_function_v2(connection, name.c_str(), arguments, direct, &name, refuse, nullptr,
                               nullptr, nullptr);
  }
  for (const Replaced& each : replaced) {
    sqlite3_create_function_v2(connection, each.name, each.arguments, kind, nullptr, each.function,
                               nullptr, nullptr, nullptr);
  }
  for (const char* name : {"printf", "format"}) {
    sqlite3_create_function_v2(
        connection, name, -1, kind, new std::unique_ptr<Printf>, guarded<print>, nullptr, nullptr,
        [](void* printer) { delete static_cast<std::unique_ptr<Printf>*>(printer); });
  }
}

}  // namespace gpuprof::store
