// Views by the columns of their tables, against what SQLite gives.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>

#include <string>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/c_api/view_reader.hpp"
#include "libprof/store/database_schema.hpp"
#include "tests/unit/replay.hpp"

using namespace gpuprof;
using c_api::OnlySqlite;
using c_api::ViewColumn;
using c_api::ViewReader;
using c_api::ViewRows;
using c_api::ViewValue;
using store::Database;

namespace {

ViewValue value_at(const ViewColumn& column, std::size_t row) {
  switch (column.form) {
    case ViewColumn::Form::numbers:
      if (column.numbers.is_null(row)) return std::monostate();
      if (column.numbers.are_real) return column.numbers.reals[row];
      return column.numbers.integers[row];
    case ViewColumn::Form::texts:
      if (column.texts->is_null(row)) return std::monostate();
      return std::string(column.texts->text(row));
    case ViewColumn::Form::values: return (*column.values)[(*column.which)[row]];
  }
  return {};
}

ViewValue value_at(const store::Statement& row, int index) {
  switch (row.type(index)) {
    case store::Statement::Type::integer: return row.integer(index);
    case store::Statement::Type::real: return row.real(index);
    case store::Statement::Type::text: return std::string(row.text(index));
    default: return std::monostate();
  }
}

using Rows = std::vector<std::vector<ViewValue>>;

// Nothing: it cannot be read so.
std::optional<Rows> read(Database& database, const std::string& view,
                         const std::vector<std::string>& columns) {
  store::Snapshot snapshot(database);
  ViewReader reader(snapshot, view, columns);
  if (!reader.can_read()) return std::nullopt;
  Rows all;
  reader.read([&](const ViewRows& rows) {
    for (std::size_t row = 0; row < rows.rows; ++row) {
      auto& values = all.emplace_back();
      for (const ViewColumn& column : rows.columns) values.push_back(value_at(column, row));
    }
  });
  return all;
}

Rows select(Database& database, const std::string& view) {
  Rows all;
  auto row = database.prepare("SELECT * FROM " + view);
  while (row.step()) {
    auto& values = all.emplace_back();
    for (int i = 0; i < row.column_count(); ++i) values.push_back(value_at(row, i));
  }
  return all;
}

std::vector<std::string> columns_of(Database& database, const std::string& view) {
  std::vector<std::string> names;
  for (const auto& column : database.columns(view)) names.push_back(column.name);
  return names;
}

}  // namespace

TEST_CASE("views by columns are what SQLite gives, in every capture") {
  const TemporaryFolder folder;
  std::map<std::string, std::size_t> rows;  // by view
  for (const char* parent :
       {GPUPROF_SOURCE_DIR "/tests/captures", GPUPROF_BUILD_DIR "/tests/captures"}) {
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      if (entry.path().extension() != ".gpcap") continue;
      const std::string path = folder / "profile.sqlite";
      std::filesystem::remove(path);
      replay(entry.path().string(), path);
      Database database(path, Database::Mode::read_only);
      std::vector<std::string> views;
      auto names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'view'");
      while (names.step()) views.emplace_back(names.text(0));
      for (const std::string& view : views) {
        INFO(entry.path().string() << ", " << view);
        const std::vector<std::string> columns = columns_of(database, view);
        const auto found = read(database, view, columns);
        if (!found) continue;
        const Rows wanted = select(database, view);
        CHECK((*found == wanted));
        rows[view] += wanted.size();
        // Each by itself needs less of the file.
        for (std::size_t i = 0; i < columns.size(); ++i) {
          const auto one = read(database, view, {columns[i]});
          if (!one) continue;
          INFO(columns[i]);
          Rows column;
          for (const auto& row : wanted) column.push_back({row[i]});
          CHECK((*one == column));
        }
      }
    }
  }
  for (const auto& [view, count] : rows) UNSCOPED_INFO(view << ": " << count);
  for (const char* view : {"kernels", "memcpys", "memsets", "api_calls", "gpu_activities",
                           "nvtx_ranges", "synchronizations", "allocations"}) {
    INFO(view);
    CHECK(rows[view] > 10);
  }
}

namespace {

// An empty profile, and rows that SQL puts into it.
class Made {
 public:
  explicit Made(const std::string& sql) : database_(folder_ / "p.sqlite", Database::Mode::create) {
    store::make_empty_profile(database_, false);
    database_.execute(sql);
  }
  Database& database() { return database_; }

 private:
  TemporaryFolder folder_;
  Database database_;
};

std::string copies(const std::string& values) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(copyKind, srcKind, dstKind, flags, bytes, start, "
         "\"end\", deviceId, contextId, streamId, correlationId, processId) VALUES " +
         values + ";";
}

}  // namespace

TEST_CASE("views by columns calculate as SQLite does") {
  Made made(
      copies("(1, 2, 3, 5, 1000, 10, 20, 0, 1, 7, 1, 9), (1, 2, 3, 4, 7, 10, 10, 0, 1, 7, 2, 9),"
             "(99, 2, 3, 0, 0, 0, 20, 0, 1, 7, 3, 9), (8, 0, 0, 3, 9000000000000000000, 1, 2, "
             "0, 1, 7, -4, 9), (1, 2, 3, NULL, NULL, NULL, NULL, NULL, 1, 7, 1, 9)") +
      "INSERT INTO RUN(key, value) VALUES('zero_ns', 4);"
      "INSERT INTO LAUNCH_RANGE VALUES(-4, 1, 0), (2, 2, 1), (3, NULL, NULL)");
  const std::vector<std::string> columns = columns_of(made.database(), "memcpys");
  const auto found = read(made.database(), "memcpys", columns);
  REQUIRE(found);
  const Rows wanted = select(made.database(), "memcpys");
  CHECK(wanted.size() == 5);
  CHECK((*found == wanted));
}

TEST_CASE("what only SQLite knows is left to it") {
  SECTION("whole numbers that become too large") {
    Made made(copies("(1, 2, 3, 0, 1, 9223372036854775807, -9, 0, 1, 7, 1, 9)"));
    CHECK_THROWS_AS(read(made.database(), "memcpys", {"duration"}), OnlySqlite);
    CHECK(read(made.database(), "memcpys", {"start", "end"}));
  }
  SECTION("values of another type") {
    Made made(copies("(1, 2, 3, 0, 'many', 1, 2, 0, 1, 7, 1, 9)"));
    CHECK_THROWS_AS(read(made.database(), "memcpys", {"bytes"}), OnlySqlite);
    CHECK(read(made.database(), "memcpys", {"start"}));
  }
  SECTION("values that hardly ever come again") {
    Made made(
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(copyKind, start) SELECT i, i FROM n");
    CHECK_THROWS_AS(read(made.database(), "memcpys", {"kind"}), OnlySqlite);
    const auto start = read(made.database(), "memcpys", {"start"});
    REQUIRE(start);
    CHECK(start->size() == 100000);
  }
  SECTION("a view that is not as we make it") {
    Made made(copies("(1, 2, 3, 0, 1, 1, 2, 0, 1, 7, 1, 9)") +
              "DROP VIEW memcpys; CREATE VIEW memcpys AS SELECT 1 AS start "
              "FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m");
    CHECK_FALSE(read(made.database(), "memcpys", {"start"}));
  }
  SECTION("a row that a join finds twice") {
    // As a table of ours is after CREATE TABLE ... AS SELECT.
    for (const char* const table : {"LAUNCH_RANGE", "NVTX_PATH", "StringTable"}) {
      INFO(table);
      Made made(copies("(1, 2, 3, 0, 1, 1, 2, 0, 1, 7, 1, 9)") +
                "INSERT INTO LAUNCH_RANGE VALUES(1, 2, 0); INSERT INTO NVTX_PATH VALUES(2, 3);"
                "INSERT INTO StringTable(_id_, value) VALUES(3, 'step')");
      for (const int rows : {1, 2}) {
        CHECK(select(made.database(), "memcpys").size() == static_cast<std::size_t>(rows));
        for (const char* const column : {"range_id", "range_path", "bytes"}) {
          INFO(column);
          CHECK(read(made.database(), "memcpys", {column}).has_value() == (rows == 1));
        }
        if (rows == 2) break;
        const std::string name = table;
        made.database().execute("CREATE TABLE copy AS SELECT * FROM " + name + "; DROP TABLE " +
                                name + "; CREATE TABLE " + name +
                                " AS SELECT * FROM copy UNION ALL SELECT * FROM copy");
      }
    }
  }
  SECTION("a table that lacks a column, or is none") {
    Made made(
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY, start INT)");
    CHECK_FALSE(read(made.database(), "memcpys", {"bytes"}));
    CHECK(read(made.database(), "memcpys", {"start"}));
    made.database().execute(
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY2;"
        "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY2 AS SELECT 7 AS start, 8 AS \"end\"");
    CHECK_FALSE(read(made.database(), "memcpys", {"start"}));
  }
}

TEST_CASE("an index is found where the view has the table's column as it is") {
  Made made(copies("(1, 2, 3, 0, 1, 1, 2, 0, 1, 7, 1, 9)") +
            "CREATE INDEX copies ON CUPTI_ACTIVITY_KIND_MEMCPY(correlationId)");
  store::Snapshot snapshot(made.database());
  const ViewReader reader(snapshot, "memcpys", {"correlation_id", "start", "name"});
  CHECK_FALSE(reader.can_read());
  const ViewReader other(snapshot, "memcpys", {"correlation_id", "start"});
  REQUIRE(other.can_read());
  CHECK(other.has_index(0));
  CHECK_FALSE(other.has_index(1));
}
