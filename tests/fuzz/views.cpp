// Views of generated rows, read from the columns of their tables.
//
// If they are read so, SQLite must give the same rows. The input chooses a view, the values of a
// few rows in each table that it reads, tables that lose their keys, columns and conditions.
#include "libprof/c_api/known.hpp"
#include "libprof/c_api/stream.hpp"
#include "libprof/c_api/view_columns.hpp"
#include "libprof/c_api/view_rows.hpp"
#include "libprof/store/database_schema.hpp"
#include "tests/fuzz/support.hpp"
#include "tests/support/arrow_text.hpp"

namespace gpuprof::fuzz {
namespace {

constexpr const char* values[] = {"0",    "1",    "2",     "3",     "NULL",
                                  "1",    "2",    "3",     "4",     "7",
                                  "-1",   "NULL", "65536", "'abc'", "4294967295",
                                  "1.5",  "'1'",  "'2x'",  "x'41'", "2147483648",
                                  "1e18", "''",   "9e999", "'a'",   "9223372036854775807",
                                  "2.0",  "10",   "-2.5",  "1000",  "(-9223372036854775807-1)"};

class Choices {
 public:
  explicit Choices(Input input) : rest_(input) {}
  std::size_t below(std::size_t end) {
    if (rest_.empty()) return 0;
    const std::size_t chosen = rest_[0] % end;
    rest_ = rest_.subspan(1);
    return chosen;
  }

 private:
  Input rest_;
};

void insert(store::Database& database, const std::string& table, Choices& choices) {
  const auto columns = database.columns(table);
  for (std::size_t rows = choices.below(6); rows > 0; --rows) {
    // Half of the rows have whole numbers alone, so that they are mostly read as columns.
    const std::size_t odd = choices.below(2) ? std::size(values) : 12;
    std::string names, texts;
    for (const auto& column : columns) {
      if (column.computed || column.name == "_id_") continue;
      names += (names.empty() ? "" : ", ") + store::quoted_name(column.name);
      texts += (texts.empty() ? "" : ", ") + std::string(values[choices.below(odd)]);
    }
    try {
      database.execute("INSERT OR REPLACE INTO " + table + "(" + names + ") VALUES(" + texts + ")");
    } catch (const store::DatabaseError& error) {
      if (!error.of_statement()) throw;  // else a key that cannot be: NULL, or a text
    }
  }
}

// The table without its key, with its rows once or twice.
void lose_key(store::Database& database, const std::string& table, bool twice) {
  const std::string all = "SELECT * FROM kept";
  database.execute("CREATE TABLE kept AS SELECT * FROM " + table + "; DROP TABLE " + table +
                   "; CREATE TABLE " + table + " AS " + all + (twice ? " UNION ALL " + all : "") +
                   "; DROP TABLE kept");
}

c_api::Constant constant(Choices& choices) {
  switch (choices.below(5)) {
    case 0: return std::monostate();
    case 1: return 1.0 + static_cast<double>(choices.below(3)) / 2;
    case 2: return std::to_string(choices.below(3));
    default: return static_cast<std::int64_t>(choices.below(4));
  }
}

std::string shown(std::monostate) { return "NULL"; }
std::string shown(const std::string& text) { return "'" + text + "'"; }
std::string shown(auto number) { return std::to_string(number); }

c_api::ViewRequest request_of(const c_api::KnownTable& view, Choices& choices) {
  c_api::ViewRequest request;
  request.view = view.name;
  const auto any_column = [&] { return view.columns[choices.below(view.columns.size())]; };
  if (choices.below(2)) {
    for (const auto& column : view.columns) request.columns.push_back({column.name, column.kind});
  } else {
    const auto column = any_column();
    request.columns.push_back({column.name, column.kind});
  }
  if (choices.below(4) == 1 && view.find("start")) {
    request.ranges.push_back({"start", static_cast<std::int64_t>(choices.below(3)), 8});
  }
  if (choices.below(3) == 1) request.equals.push_back({any_column().name, {constant(choices)}});
  if (choices.below(4) == 1) request.matches.emplace_back(any_column().name, "[1a]");
  return request;
}

std::string text_of(std::vector<c_api::ArrowColumn> columns) {
  ArrowArrayStream stream = c_api::stream_of(columns);
  return drained(stream);
}

void compare(store::Database& database, const c_api::ViewRequest& request) {
  auto columns = c_api::read_by_columns(database, request, [] {});
  if (!columns) return;
  const std::string text = text_of(std::move(*columns));
  const std::string sqlite = text_of(c_api::read_by_sqlite(database, request, SIZE_MAX, [] {}));
  if (text == sqlite) return;
  std::string where;
  for (const auto& each : request.ranges) where += " from " + std::to_string(*each.from);
  for (const auto& [column, value] : request.equals) {
    where += " " + column + " = " +
             std::visit([](const auto& constant) { return shown(constant); }, value[0]);
  }
  for (const auto& each : request.matches) where += " " + each.first + " ~ " + each.second;
  finding(request.view + where + " is " + text + ", but for SQLite " + sqlite);
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof;
  using namespace gpuprof::fuzz;
  static store::Database database = [] {
    store::Database made(folder() + "/views.sqlite", store::Database::Mode::create);
    store::make_empty_profile(made, false);
    return made;
  }();
  static const std::vector<const c_api::KnownTable*> views = [] {
    std::vector<const c_api::KnownTable*> all;
    for (const c_api::KnownTable& view : c_api::known_tables()) {
      if (!c_api::tables_of_view(view.name).empty()) all.push_back(&view);
    }
    return all;
  }();
  Choices choices(Input(data, size));
  const c_api::KnownTable& view = *views[choices.below(views.size())];
  database.execute("BEGIN");
  for (const auto& table : c_api::tables_of_view(view.name)) insert(database, table.name, choices);
  for (const auto& look_up : c_api::look_ups) insert(database, std::string(look_up.table), choices);
  for (const char* table : {"RUN", "ENUM_NAME", "LAUNCH_SHAPE"}) {
    if (choices.below(4) == 1) insert(database, table, choices);
  }
  for (const auto& look_up : c_api::look_ups) {
    const std::size_t how = choices.below(16);
    if (how < 2) lose_key(database, std::string(look_up.table), how == 1);
  }
  for (int times = 0; times < 4; ++times) compare(database, request_of(view, choices));
  database.execute("ROLLBACK");
  return 0;
}
