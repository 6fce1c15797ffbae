// An untrusted profile: opened, reported in every layout, cut with slice and truncate, and
// exported.
//
// Only gpuprof::Error may be thrown, within bounded time, and only the requested file may be
// written. Inputs are changed in pages, like a bad disk, and through SQL, like an attacker.
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "libprof/base/error.hpp"
#include "libprof/exchange/export/excerpt.hpp"
#include "libprof/exchange/export/for_nvprof.hpp"
#include "libprof/read/profile_file.hpp"
#include "tests/fuzz/reports.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

void print(const std::string& path, const report::ReportOptions& options) {
  reading::ProfileFile file(path);
  file.description();
  std::ostringstream text;
  file.read([&](store::Database& database) {
    text.str("");
    report::print_reports(database, text, options);
  });
  check_report(text.str(), options.layout);
}

void cut(const std::string& path, std::uint32_t number) {
  static const std::string part = folder() + "/part.sqlite";
  exporting::ExcerptOptions options;
  options.command = "gpuprof slice";
  switch (number % 3) {
    case 0:
      options.keep = {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_MARKER"};
      break;
    case 1:
      options.from = {0};
      options.to = {1'000'000};
      break;
    default: options.change = exporting::make_readable_for_nvprof;
  }
  reading::ProfileFile file(path);
  file.read([&](store::Database& database) {
    unlink(part.c_str());
    exporting::write_excerpt(
        database, part, options, [](std::string_view) {}, [] { return false; });
  });
}

// Where a file would go that SQL in a profile writes under a name without a folder. It must stay
// empty.
const std::string& home() {
  static const std::string path = [] {
    std::string made = folder() + "/home";
    std::filesystem::create_directory(made);
    std::filesystem::current_path(made);
    return made;
  }();
  return path;
}

template <class Use>
void expect_error(Use&& use) {
  try {
    use();
  } catch (const Error&) {
    // Refused with an error message.
  }
}

// --- changes -----------------------------------------------------------------------------------

// Like a bad disk: header, page headers, cell pointers, varints, value types.
void change_pages(std::span<std::uint8_t> file, Dice& dice) {
  std::size_t page = static_cast<std::size_t>(file[16] << 8 | file[17]);
  if (page < 512 || (page & (page - 1)) != 0) page = 512;
  const std::size_t pages = std::max<std::size_t>(1, file.size() / page);
  const auto any_page = [&] {
    const std::size_t start = dice.below(pages) * page;
    return file.subspan(start, std::min(page, file.size() - start));
  };
  for (std::size_t times = 1 + dice.below(6); times > 0; --times) {
    const auto bytes = any_page();
    if (bytes.size() < 16) continue;
    const auto anything = static_cast<std::uint8_t>(dice.number());
    const std::size_t place = dice.below(bytes.size());
    switch (dice.below(8)) {
      case 0: file[dice.below(100)] = anything; break;
      case 1: bytes[dice.below(12)] = anything; break;
      case 2: bytes[8 + dice.below(std::min<std::size_t>(bytes.size() - 8, 64))] = anything; break;
      case 3: bytes[place] ^= static_cast<std::uint8_t>(1u << dice.below(8)); break;
      case 4:
        std::memset(&bytes[place], 0xff, std::min(bytes.size() - place, 1 + dice.below(9)));
        break;
      case 5: {
        const auto other = any_page();
        std::memmove(bytes.data(), other.data(), std::min(bytes.size(), other.size()));
        break;
      }
      case 6: std::memset(bytes.data(), 0, bytes.size()); break;
      default: bytes[place] = static_cast<std::uint8_t>(dice.below(14));
    }
  }
}

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Handle = std::unique_ptr<sqlite3, Close>;

// The first `columns` columns of each row, as text.
std::vector<std::vector<std::string>> rows_of(sqlite3* database, const std::string& sql,
                                              int columns) {
  std::vector<std::vector<std::string>> rows;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return rows;
  while (sqlite3_step(statement) == SQLITE_ROW && rows.size() < 1000) {
    auto& row = rows.emplace_back();
    for (int i = 0; i < columns; ++i) {
      const auto* text = sqlite3_column_text(statement, i);
      row.emplace_back(text ? reinterpret_cast<const char*>(text) : "");
    }
  }
  sqlite3_finalize(statement);
  return rows;
}

Handle opened(Input file) {
  constexpr std::size_t more = 1 << 20;
  sqlite3* database = nullptr;
  sqlite3_open(":memory:", &database);
  Handle handle(database);
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(file.size() + more));
  std::memcpy(copy, file.data(), file.size());
  copy[18] = copy[19] = 1;  // not in WAL mode, which in-memory databases lack
  if (sqlite3_deserialize(database, "main", copy, static_cast<sqlite3_int64>(file.size()),
                          static_cast<sqlite3_int64>(file.size() + more),
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)) {
    return nullptr;
  }
  return handle;
}

// A statement on a table or view and one of its columns.
std::string statement(const std::string& name, bool is_view, const std::string& column,
                      Dice& dice) {
  static constexpr const char* values[] = {"NULL",
                                           "0",
                                           "-1",
                                           "1",
                                           "9223372036854775807",
                                           "(-9223372036854775807-1)",
                                           "4294967295",
                                           "2147483648",
                                           "''",
                                           "'abc'",
                                           "'18'",
                                           "x''",
                                           "zeroblob(4)",
                                           "zeroblob(12)",
                                           "zeroblob(144)",
                                           "x'ffffffffffffffffffffffff'",
                                           "hex(randomblob(40))",
                                           "1e308",
                                           "-1e308",
                                           "9e999",
                                           "0.5",
                                           "'_Z1fv'",
                                           "'_ZN2at6nativeE'",
                                           "char(27)||'[2J'",
                                           "'a'||char(10)||'\"b,'",
                                           "start",
                                           "[end]",
                                           "start-1",
                                           "_id_",
                                           "1000000000000"};
  static constexpr const char* others[] = {
      "CREATE TABLE Version(version INT)",
      "INSERT INTO Version VALUES(9)",
      "UPDATE Version SET version = 18",
      "DELETE FROM Version",
      "CREATE VIEW STATISTIC AS SELECT 1 AS kind, 'records_received' AS name, 5 AS value",
      "CREATE VIEW losses AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
      "SELECT i AS value FROM n",
      "CREATE TABLE sq(a INTEGER PRIMARY KEY AUTOINCREMENT)",
      "INSERT INTO sq VALUES(9223372036854775807)",
      "UPDATE sqlite_sequence SET seq = 9223372036854775807",
      "UPDATE sqlite_sequence SET seq = -9223372036854775807",
      "CREATE TABLE profGraph(id, orientation, samplingPeriod)",
      "PRAGMA user_version = 7",
      "CREATE INDEX ixx ON StringTable(value)",
      "CREATE TABLE w(a PRIMARY KEY) WITHOUT ROWID",
      "CREATE TABLE g(a, b AS (a + 1))",
      "CREATE TRIGGER t AFTER INSERT ON StringTable BEGIN DELETE FROM RUN; END",
      "CREATE VIRTUAL TABLE v USING fts5(a)",
      "UPDATE sqlite_master SET rootpage = 2 WHERE rootpage = 3",
      "UPDATE sqlite_master SET sql = sql || '; CREATE TABLE zz(a)' WHERE type = 'table'",
      "UPDATE sqlite_master SET sql = sql || '; COMMIT; ATTACH ''written'' AS e; CREATE TABLE "
      "e.t(a); DETACH e; BEGIN' WHERE rowid % 5 = 0",
      "UPDATE sqlite_master SET type = 'table', rootpage = 0 WHERE type = 'view'"};
  const std::string value = dice.of(values);
  const std::string table = quoted(name);
  const std::string field = quoted(column);
  const std::string fresh = "zz" + std::to_string(dice.below(99));
  switch (dice.below(16)) {
    case 0: return "UPDATE OR REPLACE " + table + " SET " + field + " = " + value;
    case 1: return "INSERT OR REPLACE INTO " + table + "(" + field + ") VALUES(" + value + ")";
    case 2: return "INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table + " LIMIT 3";
    case 3: return "ALTER TABLE " + table + " RENAME COLUMN " + field + " TO " + fresh;
    case 4: return "ALTER TABLE " + table + " DROP COLUMN " + field;
    case 5: return (is_view ? "DROP VIEW " : "DROP TABLE ") + table;
    case 6:
      return "ALTER TABLE " + table + " RENAME TO " + fresh + "; CREATE VIEW " + table +
             " AS SELECT * FROM " + fresh;
    case 7: return "DELETE FROM " + table + " WHERE rowid % 2";
    case 8:
      return "UPDATE sqlite_master SET sql = replace(sql, '" + column + "', 'zq') WHERE name = '" +
             name + "'";
    case 9:
    case 10: return dice.of(others);
    case 11:
      return "UPDATE OR REPLACE " + table + " SET rowid = rowid * " +
             std::to_string(static_cast<int>(dice.below(7)) - 3) + " + " +
             (dice.one_in(4) ? "9223372036854775000" : "0");
    default:
      return "UPDATE OR REPLACE " + table + " SET " + field + " = " + value + " WHERE rowid % " +
             std::to_string(1 + dice.below(7)) + " = 0";
  }
}

// Like an attacker. Returns false if there is no database, or nothing was changed.
bool change_by_sql(Bytes& file, Dice& dice) {
  const Handle database = opened(file);
  if (!database) return false;
  const auto objects = rows_of(database.get(),
                               "SELECT name, type FROM sqlite_master WHERE type IN "
                               "('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
                               2);
  if (objects.empty()) return false;
  const auto execute = [&](const std::string& sql) {
    return sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  // An endless view is for the reader under test, not for the mutator.
  sqlite3_progress_handler(
      database.get(), 100'000, [](void*) { return 1; }, nullptr);
  execute("PRAGMA writable_schema = ON");
  execute("PRAGMA journal_mode = OFF");
  bool changed = false;
  for (std::size_t times = 1 + dice.below(4); times > 0; --times) {
    const auto& object = dice.of(objects);
    const auto columns =
        rows_of(database.get(), "SELECT name FROM pragma_table_info('" + object[0] + "')", 1);
    if (columns.empty()) continue;
    changed |= execute(statement(object[0], object[1] == "view", dice.of(columns)[0], dice));
  }
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database.get(), "main", &size, 0);
  if (!bytes) return false;
  file.assign(bytes, bytes + size);
  sqlite3_free(bytes);
  return changed;
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof::fuzz;
  static const std::string path = folder() + "/profile.sqlite";
  const Input input(data, size);
  const std::string& written = home();
  write_file(path, input);
  for (const std::uint32_t number : ways(input)) {
    expect_error([&] { print(path, options_of(number)); });
    expect_error([&] { print(path, options_of(~number)); });
    if (number % 3 == 0) expect_error([&] { cut(path, number / 3); });
  }
  if (!std::filesystem::is_empty(written)) finding("SQL in a profile wrote a file");
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed) {
  using namespace gpuprof::fuzz;
  Dice dice(seed);
  if (size < 512) return LLVMFuzzerMutate(data, size, room);
  if (!dice.one_in(3)) {
    Bytes file(data, data + size);
    if (change_by_sql(file, dice) && file.size() <= room) {
      size = file.size();
      std::memcpy(data, file.data(), size);
      if (!dice.one_in(4)) return size;
    }
  }
  if (dice.one_in(24)) return 100 + dice.below(size - 100);  // truncated
  change_pages({data, size}, dice);
  return size;
}
