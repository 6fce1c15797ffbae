// Views read from the columns of their tables, compared with what SQLite gives.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/c_api/known.hpp"
#include "libprof/c_api/stream.hpp"
#include "libprof/c_api/view_columns.hpp"
#include "libprof/c_api/view_rows.hpp"
#include "libprof/store/database_schema.hpp"
#include "tests/support/arrow_text.hpp"
#include "tests/unit/replay.hpp"

using namespace gpuprof;
using c_api::ViewRequest;
using store::Database;

namespace {

std::vector<std::string> columns_of(Database& database, const std::string& view) {
  std::vector<std::string> names;
  // Of stacks, SQLite alone reads the columns.
  for (const auto& column : database.columns(view)) {
    if (c_api::find_known(view)->find(column.name)) names.push_back(column.name);
  }
  return names;
}

ViewRequest all_of(const std::string& view, const std::vector<std::string>& columns) {
  ViewRequest request;
  request.view = view;
  for (const std::string& column : columns) {
    request.columns.push_back({column, c_api::find_known(view)->find(column)->kind});
  }
  return request;
}

std::string text_of(std::vector<c_api::ArrowColumn> columns) {
  ArrowArrayStream stream = c_api::stream_of(columns);
  return drained(stream);
}

std::vector<c_api::ArrowColumn> read_by_sqlite(Database& database, const ViewRequest& request) {
  return c_api::read_by_sqlite(database, request, SIZE_MAX, [] {});
}

std::string by_sqlite(Database& database, const ViewRequest& request) {
  return text_of(read_by_sqlite(database, request));
}

// Whether the view is read without SQLite, and then as SQLite reads it.
bool reads(Database& database, const ViewRequest& request) {
  auto found = c_api::read_by_columns(database, request, [] {});
  if (!found) return false;
  const std::string text = text_of(std::move(*found));
  CHECK(text == by_sqlite(database, request));
  return true;
}

bool reads(Database& database, const std::string& view, const std::vector<std::string>& columns) {
  return reads(database, all_of(view, columns));
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
      for (const c_api::KnownTable& view : c_api::known_tables()) {
        if (c_api::tables_of_view(view.name).empty()) continue;
        INFO(entry.path().string() << ", " << view.name);
        if (!database.has_table(view.name)) continue;
        const std::vector<std::string> columns = columns_of(database, view.name);
        CHECK(reads(database, view.name, columns));
        // Each alone needs less of the file. SQLite may then take them from an index, in its order.
        // One capture with some rows of the view says it.
        if (rows[view.name] > 10) continue;
        for (c_api::ArrowColumn& column : read_by_sqlite(database, all_of(view.name, columns))) {
          rows[view.name] = std::max(rows[view.name], column.size());
          INFO(column.name());
          auto found = c_api::read_by_columns(database, all_of(view.name, {column.name()}), [] {});
          REQUIRE(found);
          std::vector<c_api::ArrowColumn> wanted;
          wanted.push_back(std::move(column));
          CHECK(text_of(std::move(*found)) == text_of(std::move(wanted)));
        }
      }
    }
  }
  for (const auto& [view, count] : rows) UNSCOPED_INFO(view << ": " << count);
  for (const char* view : {"kernels", "memcpys", "memsets", "api_calls", "gpu_activities",
                           "nvtx_ranges", "synchronizations", "allocations", "memory_timeline"}) {
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
             "0, 1, 7, -4, 9), (1, 2, 3, NULL, NULL, NULL, NULL, NULL, 1, 7, 1, 9),"
             "(0, 2, 3, NULL, NULL, NULL, NULL, 0, 1, 7, 1, 9)") +
      "INSERT INTO RUN(key, value) VALUES('zero_ns', 4);"
      "INSERT INTO LAUNCH_RANGE VALUES(-4, 1, 0), (2, 2, 1), (3, NULL, NULL)");
  Database& database = made.database();
  CHECK(reads(database, "memcpys", columns_of(database, "memcpys")));
  CHECK(database.integer("SELECT count(*) FROM memcpys") == 6);
  database.execute("DELETE FROM RUN WHERE key = 'zero_ns'");
  CHECK(reads(database, "memcpys", {"t_ms"}));
  database.execute("INSERT INTO RUN(key, value) VALUES('zero_ns', '99999999999999999999x')");
  CHECK(reads(database, "memcpys", {"t_ms"}));
}

TEST_CASE("conditions on views by columns are SQLite's") {
  Made made(
      copies(
          "(1, 2, 3, 5, 1000, 10, 20, 0, 1, 7, 1, 9), (1, 2, 3, 4, 7, 11, 12, 1, 1, 7, 2, 9),"
          "(2, 2, 3, 0, 0, 0, 20, NULL, 1, 7, 3, 9), (8, 0, 0, 3, NULL, NULL, 2, 0, 1, 7, 4, 9)") +
      "INSERT INTO LAUNCH_RANGE VALUES(1, 10, 1), (2, 1, 0)");
  Database& database = made.database();
  const std::vector<std::string> columns{"kind", "start", "bytes"};
  const std::string head = "kind:t start:l bytes:l";
  const auto with = [&](const std::string& column, const std::vector<c_api::Constant>& values,
                        bool by_columns = true) {
    ViewRequest request = all_of("memcpys", columns);
    request.equals.emplace_back(column, values);
    INFO(column);
    CHECK(reads(database, request) == by_columns);
    return by_sqlite(database, request);
  };
  CHECK(with("device_id", {std::int64_t{0}}) == head + " HtoD|10|1000 DtoD|-|-");
  CHECK(with("device_id", {std::monostate(), std::int64_t{1}}) == head + " HtoD|11|7 DtoH|-|0");
  CHECK(with("kind", {std::string("DtoH"), std::monostate()}) == head + " DtoH|-|0");
  CHECK(with("is_async", {}) == head);
  CHECK(with("range_match", {std::string("time")}) == head + " HtoD|11|7");
  CHECK(with("src_device_id", {std::monostate()}) ==
        by_sqlite(database, all_of("memcpys", columns)));
  // SQLite takes a text for a number where the table's column has numbers.
  CHECK(with("device_id", {std::string("1")}, false) == head + " HtoD|11|7");
  CHECK(with("device_id", {1.0}, false) == head + " HtoD|11|7");
  CHECK(with("device_id", {std::string("1"), std::int64_t{0}}, false) ==
        head + " HtoD|10|1000 HtoD|11|7 DtoD|-|-");
  CHECK(with("kind", {std::int64_t{1}}, false) == head);
  const auto matching = [&](const std::string& column, const std::string& expression) {
    ViewRequest request = all_of("memcpys", columns);
    request.matches.emplace_back(column, expression);
    INFO(column);
    CHECK(reads(database, request));
    return by_sqlite(database, request);
  };
  CHECK(matching("kind", "^H") == head + " HtoD|10|1000 HtoD|11|7");
  CHECK(matching("bytes", "0$") == head + " HtoD|10|1000 DtoH|-|0");
  CHECK(matching("range_id", "1") == head + " HtoD|10|1000 HtoD|11|7");
  ViewRequest ranges = all_of("memcpys", {"kind"});
  ranges.ranges.push_back({"start", 10, 11});
  CHECK(reads(database, ranges));
  CHECK(by_sqlite(database, ranges) == "kind:t HtoD");
  ranges.ranges = {{"start", {}, 11}};
  CHECK(reads(database, ranges));
  CHECK(by_sqlite(database, ranges) == "kind:t HtoD");
}

TEST_CASE("what only SQLite knows is left to it") {
  SECTION("whole numbers that become too large") {
    Made made(copies("(1, 2, 3, 0, 1, 9223372036854775807, -9, 0, 1, 7, 1, 9)"));
    CHECK_FALSE(reads(made.database(), "memcpys", {"duration"}));
    CHECK(reads(made.database(), "memcpys", {"start", "end"}));
  }
  SECTION("values of another type") {
    Made made(copies("(1, 2, 3, 0, 'many', 1, 2, 0, 1, 7, 1, 9)"));
    CHECK_FALSE(reads(made.database(), "memcpys", {"bytes"}));
    CHECK(reads(made.database(), "memcpys", {"start"}));
    ViewRequest late = all_of("memcpys", {"kind"});
    late.ranges.push_back({"start", 5, {}});
    CHECK(reads(made.database(), late));
    made.database().execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = 'late'");
    // For SQLite a text is more than any number.
    CHECK_FALSE(reads(made.database(), late));
    CHECK(by_sqlite(made.database(), late) == "kind:t HtoD");
  }
  SECTION("a truth value that is neither 0 nor 1") {
    Made made("INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(isAsync) VALUES(0), (1), (NULL)");
    CHECK(reads(made.database(), "allocations", {"is_async"}));
    made.database().execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(isAsync) VALUES(2)");
    CHECK_FALSE(reads(made.database(), "allocations", {"is_async"}));
    CHECK(by_sqlite(made.database(), all_of("allocations", {"is_async"})) == "is_async:l 0 1 - 2");
  }
  SECTION("values that hardly ever come again") {
    Made made(
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(copyKind, start) SELECT i, i FROM n");
    CHECK_FALSE(reads(made.database(), "memcpys", {"kind"}));
    CHECK(reads(made.database(), "memcpys", {"start"}));
  }
  SECTION("a view that is not as we make it") {
    Made made(copies("(1, 2, 3, 0, 1, 1, 2, 0, 1, 7, 1, 9)") +
              "DROP VIEW memcpys; CREATE VIEW memcpys AS SELECT 1 AS start "
              "FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m");
    CHECK_FALSE(reads(made.database(), "memcpys", {"start"}));
  }
  SECTION("a row that a join finds twice") {
    // As a table of ours is after CREATE TABLE ... AS SELECT.
    for (const char* const table : {"LAUNCH_RANGE", "NVTX_PATH", "StringTable"}) {
      INFO(table);
      Made made(copies("(1, 2, 3, 0, 1, 1, 2, 0, 1, 7, 1, 9)") +
                "INSERT INTO LAUNCH_RANGE VALUES(1, 2, 0); INSERT INTO NVTX_PATH VALUES(2, 3);"
                "INSERT INTO StringTable(_id_, value) VALUES(3, 'step')");
      for (const int rows : {1, 2}) {
        CHECK(made.database().integer("SELECT count(bytes) FROM memcpys") == rows);
        for (const char* const column : {"range_id", "range_path", "bytes"}) {
          INFO(column);
          CHECK(reads(made.database(), "memcpys", {column}) == (rows == 1));
        }
        if (rows == 2) break;
        const std::string name = table;
        made.database().execute("CREATE TABLE copy AS SELECT * FROM " + name + "; DROP TABLE " +
                                name + "; CREATE TABLE " + name +
                                " AS SELECT * FROM copy UNION ALL SELECT * FROM copy");
      }
    }
  }
  SECTION("rows whose id finds another as well") {
    Made made(
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(_id_ INT, start INT);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(1, 2), (1, 3)");
    CHECK_FALSE(reads(made.database(), "memsets", {"start"}));
  }
  SECTION("a table that lacks a column, or is none") {
    Made made(
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY, start INT)");
    CHECK_FALSE(c_api::read_by_columns(made.database(), all_of("memcpys", {"bytes"}), [] {}));
    CHECK(c_api::read_by_columns(made.database(), all_of("memcpys", {"start"}), [] {}));
    made.database().execute(
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY2;"
        "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY2 AS SELECT 7 AS start, 8 AS \"end\"");
    CHECK_FALSE(c_api::read_by_columns(made.database(), all_of("memcpys", {"start"}), [] {}));
  }
  SECTION("rows that an index finds") {
    Made made(copies("(1, 2, 3, 0, 1, 1, 2, 0, 1, 7, 1, 9)"));
    ViewRequest one = all_of("memcpys", {"start"});
    one.equals.push_back({"correlation_id", {std::int64_t{1}}});
    CHECK(reads(made.database(), one));
    made.database().execute(
        "CREATE INDEX copies ON CUPTI_ACTIVITY_KIND_MEMCPY(correlationId);"
        "CREATE INDEX starts ON CUPTI_ACTIVITY_KIND_MEMCPY(start)");
    CHECK_FALSE(reads(made.database(), one));
    // The view's start is not the table's, so that SQLite cannot use that index.
    one.equals = {{"start", {std::int64_t{1}}}};
    CHECK(reads(made.database(), one));
  }
}
