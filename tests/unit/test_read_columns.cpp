// Columns against what SQLite gives for the same tables.
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/read/columns/reader.hpp"
#include "tests/unit/replay.hpp"

using namespace gpuprof;
using columns::Chunk;
using columns::Reader;
using columns::Request;
using columns::Type;
using store::Database;

namespace {

constexpr store::SnapshotOptions one_thread{.threads = 1};
constexpr store::SnapshotOptions two_threads{.threads = 2, .parallel_from_bytes = 0};

const std::string runtime = "CUPTI_ACTIVITY_KIND_RUNTIME";

// Values as texts; NULL is "-".
using Rows = std::vector<std::vector<std::string>>;

std::string bits_of(double value) { return std::to_string(std::bit_cast<std::uint64_t>(value)); }

std::string text_of(const columns::Column& column, std::size_t row) {
  if (column.is_null(row)) return "-";
  switch (column.type()) {
    case Type::int64: return std::to_string(column.int64s()[row]);
    case Type::int32:
    case Type::name:
    case Type::enumeration: return std::to_string(column.int32s()[row]);
    case Type::float64: return bits_of(column.doubles()[row]);
    case Type::boolean: return column.booleans()[row] ? "true" : "false";
    case Type::text:
    case Type::blob: return "'" + std::string(column.text(row));
  }
  return {};
}

void add_rows(Rows& rows, const Chunk& chunk) {
  for (std::size_t row = 0; row < chunk.rows(); ++row) {
    auto& values = rows.emplace_back();
    values.reserve(chunk.column_count());
    for (std::size_t i = 0; i < chunk.column_count(); ++i) {
      if (chunk[i].size() != chunk.rows()) throw std::logic_error("columns differ in length");
      values.push_back(text_of(chunk[i], row));
    }
  }
}

struct Read {
  Rows rows;
  std::size_t misfits = 0;
  std::int64_t from_file = 0, by_sqlite = 0;
};

Read read(store::Snapshot& snapshot, const Request& request) {
  Reader reader(snapshot, request);
  Read all;
  reader.read([&](const Chunk& chunk) {
    add_rows(all.rows, chunk);
    all.misfits += chunk.misfits();
  });
  all.from_file = reader.read_from_file();
  all.by_sqlite = reader.read_by_sqlite();
  return all;
}

Read read(Database& database, const Request& request,
          const store::SnapshotOptions& options = two_threads) {
  store::Snapshot snapshot(database, options);
  return read(snapshot, request);
}

Rows scanned(Database& database, const Request& request) {
  store::Snapshot snapshot(database, two_threads);
  Reader reader(snapshot, request);
  Rows all;
  for (const Rows& part :
       reader.scan<Rows>([](Rows&rows, const Chunk&chunk) { add_rows(rows, chunk); })) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// What a column of the type makes of a value, said once more.
std::string expected(const store::Statement& row, int index, Type type) {
  sqlite3_stmt* handle = row.handle();
  const int stored = sqlite3_column_type(handle, index);
  const std::int64_t whole = row.integer(index);
  const bool is_whole = stored == SQLITE_INTEGER;
  switch (type) {
    case Type::int64: return is_whole ? std::to_string(whole) : "-";
    case Type::int32:
    case Type::name:
    case Type::enumeration:
      return is_whole && whole >= INT32_MIN && whole <= INT32_MAX ? std::to_string(whole) : "-";
    case Type::float64: return is_whole || stored == SQLITE_FLOAT ? bits_of(row.real(index)) : "-";
    case Type::boolean: return !is_whole ? "-" : whole ? "true" : "false";
    case Type::text:
      return is_whole || stored == SQLITE_TEXT ? "'" + std::string(row.text(index)) : "-";
    case Type::blob: {
      const auto bytes = row.blob(index);
      return stored == SQLITE_BLOB
                 ? "'" + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())
                 : "-";
    }
  }
  return {};
}

Rows selected(Database& database, const columns::TableInfo& table) {
  std::string sql = "SELECT ";
  for (const auto& column : table.columns) {
    const bool there = database.has_column(table.name, column.name);
    sql += (sql.size() > 7 ? ", " : "") +
           (there ? store::quoted_name(column.name) : std::string("NULL"));
  }
  auto statement =
      database.prepare(sql + " FROM " + store::quoted_name(table.name) + " NOT INDEXED");
  Rows rows;
  while (statement.step()) {
    auto& values = rows.emplace_back();
    values.reserve(table.columns.size());
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      values.push_back(expected(statement, static_cast<int>(i), table.columns[i].type));
    }
  }
  return rows;
}

bool is_table(Database& database, std::string_view name) {
  auto found = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1");
  return found.bind(1, name).step();
}

std::vector<std::string> names_of(const columns::TableInfo& table) {
  std::vector<std::string> names;
  for (const auto& column : table.columns) names.emplace_back(column.name);
  return names;
}

// Every column of every table, by all ways. Gives the number of rows.
std::size_t compare(const std::string& path) {
  INFO(path);
  std::vector<std::pair<Request, Rows>> should;
  std::size_t rows = 0;
  {
    Database database(path, Database::Mode::read_only);
    for (const columns::TableInfo& table : columns::tables()) {
      if (!is_table(database, table.name)) continue;
      const Request request{.table = std::string(table.name), .columns = names_of(table)};
      rows += should.emplace_back(request, selected(database, table)).second.size();
    }
  }
  for (const auto& options : {one_thread, two_threads}) {
    Database database(path, Database::Mode::read_only);
    store::Snapshot snapshot(database, options);
    CHECK(snapshot.has_own_readers() == (options.parallel_from_bytes == 0));
    std::int64_t from_file = 0;
    for (auto& [request, wanted] : should) {
      INFO(request.table);
      request.only_sqlite = false;
      request.pages_at_a_time = snapshot.has_own_readers() ? 1 : 0;
      const Read from_pages = read(snapshot, request);
      CHECK((from_pages.rows == wanted));
      from_file += from_pages.from_file;
      if (!snapshot.has_own_readers()) continue;
      request.only_sqlite = true;
      const Read from_sqlite = read(snapshot, request);
      CHECK((from_sqlite.rows == wanted));
      CHECK(from_sqlite.from_file == 0);
    }
    CHECK(from_file > 5);
  }
  return rows;
}

}  // namespace

TEST_CASE("columns of every table of every capture are what SQLite gives") {
  const TemporaryFolder folder;
  std::size_t captures = 0;
  for (const char* parent :
       {GPUPROF_SOURCE_DIR "/tests/captures", GPUPROF_BUILD_DIR "/tests/captures"}) {
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      if (entry.path().extension() != ".gpcap") continue;
      const std::string path = folder / "profile.sqlite";
      std::filesystem::remove(path);
      replay(entry.path().string(), path);
      CHECK(compare(path) > 1000);
      ++captures;
    }
  }
  CHECK(captures >= 9);
}

TEST_CASE("columns of every table of files of nvprof are what SQLite gives") {
  const TemporaryFolder folder;
  const std::filesystem::path corpus(GPUPROF_SOURCE_DIR "/tests/fuzz/corpus/profile");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const std::string path = folder / "profile.sqlite";
    std::filesystem::copy_file(entry.path(), path,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(compare(path) > 10);
    ++files;
  }
  CHECK(files >= 10);
}

namespace {

// A file of its own, made by SQL; pages are small, so that few rows make a tree of several levels.
class Made {
 public:
  explicit Made(const std::string& sql, const std::string& settings = "PRAGMA page_size = 512;")
      : database_(folder_ / "profile.sqlite", Database::Mode::create) {
    database_.execute("PRAGMA synchronous = OFF;" + settings + "BEGIN;" + sql + ";COMMIT");
  }
  Database& database() { return database_; }
  std::string path() const { return folder_ / "profile.sqlite"; }

 private:
  TemporaryFolder folder_;
  Database database_;
};

const std::string make_runtime =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY, cbid INT, start INT, "
    "end INT, processId INT, threadId INT, correlationId INT, returnValue INT);";

// Rows with the ids 1 to `count`: start is 1000 times the id.
std::string calls(int count) {
  return make_runtime + "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT " +
         std::to_string(count) +
         ") INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
         "SELECT i, i % 7, i * 1000, i * 1000 + i % 50, 10 + i % 3, i % 2, -i, "
         "nullif(i % 11, 0) FROM n";
}

Request starts(columns::Filter filter = {}) {
  return {.table = runtime, .columns = {"start"}, .filter = std::move(filter)};
}

// Both ways, which must agree. `from_file`: whether the first may read pages.
Read both(Database& database, Request request, bool from_file = true) {
  Read found = read(database, request);
  CHECK((found.from_file > 0) == from_file);
  request.only_sqlite = true;
  const Read other = read(database, request);
  CHECK(found.rows == other.rows);
  CHECK(found.misfits == other.misfits);
  request.only_sqlite = false;
  return found;
}

}  // namespace

TEST_CASE("columns come in the order of rows, from trees of several levels", "[tsan]") {
  Made made(calls(20'000));
  for (const bool only_sqlite : {false, true}) {
    for (const auto& options : {one_thread, two_threads}) {
      Request request = starts();
      request.only_sqlite = only_sqlite;
      const Read found = read(made.database(), request, options);
      REQUIRE(found.rows.size() == 20'000);
      for (std::size_t i = 0; i < found.rows.size(); ++i) {
        if (found.rows[i][0] != std::to_string(1000 * (i + 1))) FAIL("row " << i);
      }
      CHECK((only_sqlite ? found.from_file : found.by_sqlite) == 0);
    }
  }
}

TEST_CASE("a scan visits each row once, by several threads", "[tsan]") {
  Made made(calls(20'000));
  for (const bool only_sqlite : {false, true}) {
    Request request = starts();
    request.only_sqlite = only_sqlite;
    Rows rows = scanned(made.database(), request);
    std::ranges::sort(rows);
    CHECK(rows.size() == 20'000);
    CHECK(std::ranges::adjacent_find(rows) == rows.end());
  }
}

TEST_CASE("columns have the rows that a filter leaves") {
  Made made(calls(500));
  const auto count = [&](const columns::Filter& filter, const std::string& where) {
    const Read found = both(made.database(), starts(filter));
    Rows should;
    auto rows = made.database().prepare("SELECT start FROM " + runtime + " WHERE " + where);
    while (rows.step()) should.push_back({std::string(rows.text(0))});
    CHECK(found.rows == should);
    return found.rows.size();
  };
  CHECK(count({.from = 100'000}, "start >= 100000") == 401);
  CHECK(count({.to = 100'000}, "start < 100000") == 99);
  CHECK(count({.from = 3'000, .to = 9'000}, "start >= 3000 AND start < 9000") == 6);
  CHECK(count({.processes = {11, 12}}, "processId IN (11, 12)") == 334);
  CHECK(count({.processes = {11, -5, INT64_MAX}}, "processId = 11") == 167);
  CHECK(count({.from = 100'000, .processes = {11}}, "start >= 100000 AND processId = 11") == 134);
  // Of a column that the table lacks: no condition.
  CHECK(count({.devices = {3}, .names = std::vector<std::int64_t>{}}, "1") == 500);
}

TEST_CASE("a filter on names, and values that are none") {
  Made made(
      "CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name INT, start INT, stop INT);"
      "INSERT INTO NVTX_RANGE VALUES(1, 5, 10, 20), (2, NULL, 10, 20), (3, '5x', 10, 20), "
      "(4, 5.5, 10, 20), (5, 6, 'x', 20), (6, 5000000000, 10, 20)");
  const auto ids = [&](const columns::Filter& filter) {
    std::string text;
    const Request request{.table = "nvtx_range", .columns = {"_ID_"}, .filter = filter};
    for (const auto& row : both(made.database(), request).rows) text += row[0];
    return text;
  };
  CHECK(ids({.names = std::vector<std::int64_t>{5}}) == "1");
  CHECK(ids({.names = std::vector<std::int64_t>{5, 6, 5'000'000'000}}) == "156");
  CHECK(ids({.names = std::vector<std::int64_t>{}}).empty());
  CHECK(ids({.from = 0}) == "12346");
}

TEST_CASE("what is not of a column's type is NULL and counted") {
  Made made(
      "CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name, depth, kind, payloadInt, "
      "payloadDouble REAL);"
      "INSERT INTO NVTX_RANGE VALUES"
      "(1, 5, 0, 'push_pop', 1, 2), (2, NULL, NULL, NULL, NULL, NULL),"
      "(-3, 2147483648, '7', 7, 9223372036854775807, 0.5),"
      "(4, -2147483648, 7.0, x'41', x'', 'text'),"
      "(5, 'five', x'00', 1.5, -1, 9e999), (6, x'05', 1, '', 127, -1)");
  const Read found =
      both(made.database(), {.table = "NVTX_RANGE",
                             .columns = {"_id_", "name", "depth", "kind", "payloadInt",
                                         "payloadDouble", "color", "payloadInt"}});
  const std::string infinite = bits_of(std::numeric_limits<double>::infinity());
  const Rows should{
      {"-3", "-", "-", "'7", "9223372036854775807", bits_of(0.5), "-", "9223372036854775807"},
      {"1", "5", "0", "'push_pop", "1", bits_of(2), "-", "1"},
      {"2", "-", "-", "-", "-", "-", "-", "-"},
      {"4", "-2147483648", "-", "-", "-", "-", "-", "-"},
      {"5", "-", "-", "-", "-1", infinite, "-", "-1"},
      {"6", "-", "1", "'", "127", bits_of(-1), "-", "127"}};
  CHECK(found.rows == should);
  CHECK(found.misfits == 12);
}

TEST_CASE("validity has a bit per row, and none where all have a value") {
  Made made(calls(300));
  const Request request{.table = runtime, .columns = {"returnValue", "cbid"}};
  store::Snapshot snapshot(made.database(), one_thread);
  Reader(snapshot, request).read([](const Chunk& chunk) {
    REQUIRE(chunk.rows() == 300);
    CHECK(chunk[0].nulls() == 27);
    CHECK(chunk[0].is_null(10));
    CHECK_FALSE(chunk[0].is_null(11));
    CHECK((chunk[0].validity()[0] >> 10 & 1) == 0);
    CHECK(chunk[0].int64s()[10] == 0);
    CHECK(chunk[1].nulls() == 0);
    CHECK(chunk[1].validity().empty());
  });
}

TEST_CASE("tables and columns that the file lacks have no rows and no values") {
  Made made(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY, cbid INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(7, 8);"
      "CREATE VIEW CUPTI_ACTIVITY_KIND_DRIVER AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME;"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMORY2(_id_ INTEGER PRIMARY KEY, timestamp INT)");
  CHECK(both(made.database(), {.table = runtime, .columns = {"cbid", "start"}}).rows ==
        Rows{{"8", "-"}});
  const auto rows = [&](const std::string& table) {
    return both(made.database(), {.table = table, .columns = {}}, false).rows.size();
  };
  CHECK(rows("CUPTI_ACTIVITY_KIND_DRIVER") == 0);
  CHECK(rows("NVTX_RANGE") == 0);
  store::Snapshot snapshot(made.database());
  CHECK_THROWS_AS(Reader(snapshot, {.table = "sqlite_master", .columns = {}}), Error);
  CHECK_THROWS_AS(Reader(snapshot, {.table = runtime, .columns = {"cbid; --"}}), Error);
  // No columns are rows all the same.
  std::size_t count = 0;
  Reader(snapshot, {.table = runtime, .columns = {}}).read([&](const Chunk& chunk) {
    count += chunk.rows();
  });
  CHECK(count == 1);
}

TEST_CASE("a table that only SQLite can read gives the same columns") {
  const std::string insert =
      "INSERT INTO NVTX_RANGE(_id_, name, start) VALUES(1, 2, 10), (300, 4, 20)";
  const Rows should{{"1", "2", "10"}, {"300", "4", "20"}};
  const Request request{.table = "NVTX_RANGE", .columns = {"_id_", "name", "start"}};
  SECTION("without row ids") {
    Made made("CREATE TABLE NVTX_RANGE(_id_ INT PRIMARY KEY, name INT, start INT) WITHOUT ROWID;" +
              insert);
    CHECK(both(made.database(), request, false).rows == should);
  }
  SECTION("with a computed column") {
    Made made(
        "CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, twice AS (2 * name), name INT, "
        "start INT);" +
        insert);
    CHECK(both(made.database(), request, false).rows == should);
  }
  SECTION("with whole numbers that SQLite makes reals") {
    Made made("CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name REAL, start INT);" + insert);
    const Read found = both(made.database(), request, false);
    CHECK(found.rows == Rows{{"1", "-", "10"}, {"300", "-", "20"}});
    CHECK(found.misfits == 2);
  }
  SECTION("with a column that older rows lack") {
    Made made(
        "CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name INT);"
        "INSERT INTO NVTX_RANGE VALUES(1, 2), (300, 4);"
        "ALTER TABLE NVTX_RANGE ADD COLUMN start INT DEFAULT 10");
    CHECK(both(made.database(), request, false).rows == Rows{{"1", "2", "10"}, {"300", "4", "10"}});
  }
  SECTION("in another encoding") {
    Made made("CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name INT, start INT);" + insert,
              "PRAGMA encoding = 'UTF-16le';");
    CHECK(both(made.database(), request, false).rows == should);
  }
  SECTION("with a log") {
    Made made("CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name INT, start INT);" + insert,
              "PRAGMA journal_mode = WAL;");
    CHECK(both(made.database(), request, false).rows == should);
  }
  SECTION("in a transaction that is not over") {
    Made made("CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name INT, start INT)");
    made.database().execute("BEGIN;" + insert);
    CHECK(both(made.database(), request, false).rows == should);
  }
  SECTION("in memory") {
    Database database(":memory:", Database::Mode::create);
    database.execute("CREATE TABLE NVTX_RANGE(_id_ INTEGER PRIMARY KEY, name INT, start INT);" +
                     insert);
    CHECK(both(database, request, false).rows == should);
  }
}

TEST_CASE("a key that is no row id is read as what it is") {
  const Request request{.table = "NVTX_RANGE", .columns = {"_id_", "name"}};
  const Rows should{{"30", "1"}, {"20", "2"}, {"-", "3"}};
  for (const char* key : {"INTEGER PRIMARY KEY DESC", "INT PRIMARY KEY", "INTEGER"}) {
    Made made("CREATE TABLE NVTX_RANGE(_id_ " + std::string(key) +
              ", name INT); INSERT INTO NVTX_RANGE VALUES(30, 1), (20, 2), (NULL, 3)");
    CHECK(both(made.database(), request).rows == should);
  }
  Made made(
      "CREATE TABLE NVTX_RANGE(name INT, _id_ INTEGER, PRIMARY KEY(_id_ ASC));"
      "INSERT INTO NVTX_RANGE VALUES(1, 30), (2, 20)");
  CHECK(both(made.database(), request).rows == Rows{{"20", "2"}, {"30", "1"}});
}

TEST_CASE("rows that go on in other pages are left to SQLite, with those around them") {
  Made made(
      "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);"
      "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) "
      "INSERT INTO StringTable SELECT i, CASE i % 1000 WHEN 0 THEN hex(zeroblob(900)) "
      "ELSE 'name ' || i END FROM n");
  Request request{.table = "StringTable", .columns = {"_id_", "value"}, .pages_at_a_time = 4};
  const Read found = both(made.database(), request);
  CHECK(found.by_sqlite == 3);
  CHECK(found.from_file > 10);
  REQUIRE(found.rows.size() == 3000);
  CHECK(found.rows[999][1].size() == 1801);
  CHECK(found.rows[998][1] == "'name 999");
}

TEST_CASE("row ids may be anywhere") {
  Made made(make_runtime +
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(_id_, start) VALUES"
            "(-9223372036854775808, 1), (-1, 2), (0, 3), (70000, 4), (9223372036854775806, 5), "
            "(9223372036854775807, 6)");
  CHECK(both(made.database(), starts()).rows == Rows{{"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"6"}});
}

TEST_CASE("what a visit throws ends the reading", "[tsan]") {
  Made made(calls(20'000));
  for (const bool only_sqlite : {false, true}) {
    for (const auto& options : {one_thread, two_threads}) {
      Request request = starts();
      request.only_sqlite = only_sqlite;
      store::Snapshot snapshot(made.database(), options);
      Reader reader(snapshot, request);
      int visits = 0;
      CHECK_THROWS_AS(reader.read([&](const Chunk&) {
        if (++visits == 2) throw std::logic_error("enough");
      }),
                      std::logic_error);
      CHECK(visits == 2);
      CHECK_THROWS_AS(
          reader.scan<int>([](int&, const Chunk&) { throw std::logic_error("enough"); }),
          std::logic_error);
      // And it can be read again.
      std::size_t rows = 0;
      reader.read([&](const Chunk& chunk) { rows += chunk.rows(); });
      CHECK(rows == 20'000);
    }
  }
}

TEST_CASE("who watches the database can end the reading", "[tsan]") {
  Made made(calls(20'000));
  for (const auto& options : {one_thread, two_threads}) {
    store::Snapshot snapshot(made.database(), options);
    std::atomic<int> visits = 0;
    made.database().watch([&] { return visits >= 2; });
    const auto ends = [&](const auto& read) {
      visits = 0;
      try {
        read();
      } catch (const store::DatabaseError& error) {
        return error.kind() == store::DatabaseError::Kind::interrupted;
      }
      return false;
    };
    Reader reader(snapshot, starts());
    CHECK(ends([&] { reader.read([&](const Chunk&) { ++visits; }); }));
    CHECK(visits == 2);
    CHECK(ends([&] {
      visits = 2;
      reader.scan<int>([](int&, const Chunk&) {});
    }));
    made.database().watch({});
  }
}

namespace {

// As a bad disk would change pages, or somebody who knows what is in them.
void spoil(std::string& file, std::minstd_rand& dice) {
  const auto below = [&](std::size_t end) { return dice() % end; };
  const std::size_t page = 512, pages = file.size() / page;
  for (std::size_t times = 1 + below(3); times > 0; --times) {
    char* const bytes = &file[(1 + below(pages - 1)) * page];
    switch (below(6)) {
      case 0: bytes[below(12)] = static_cast<char>(dice()); break;              // page header
      case 1: bytes[8 + below(40)] = static_cast<char>(dice()); break;          // cell pointers
      case 2: bytes[below(page)] ^= static_cast<char>(1 << below(8)); break;    // anywhere
      case 3: bytes[below(page)] = static_cast<char>(below(16)); break;         // a type
      case 4: std::memset(&bytes[below(page - 9)], 0xff, 1 + below(9)); break;  // a number
      default: std::memmove(bytes, &file[below(pages) * page], page);           // a page
    }
  }
}

}  // namespace

TEST_CASE("pages that make no sense are left to SQLite, and the others are what it reads") {
  Made made(calls(300) + ";" +
            "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT, demangled TEXT);"
            "INSERT INTO StringTable SELECT _id_, hex(zeroblob(_id_ % 40)), nullif(start, 5000) "
            "FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 200");
  const std::string sound = [&] {
    std::ifstream file(made.path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  const TemporaryFolder folder;
  const std::string path = folder / "spoilt.sqlite";
  std::minstd_rand dice(20261122);
  int from_file = 0, by_sqlite = 0, errors = 0;
  for (int round = 0; round < 250; ++round) {
    std::string spoilt = sound;
    spoil(spoilt, dice);
    std::ofstream(path, std::ios::binary).write(spoilt.data(), static_cast<long>(spoilt.size()));
    for (const char* name : {"CUPTI_ACTIVITY_KIND_RUNTIME", "StringTable"}) {
      const columns::TableInfo& table = *columns::find_table(name);
      Request request{.table = name, .columns = names_of(table), .pages_at_a_time = 3};
      std::optional<Rows> should;
      try {
        Database database(path, Database::Mode::read_only);
        should = selected(database, table);
      } catch (const Error&) {
        // Then nobody can say what is in it.
      }
      try {
        Database database(path, Database::Mode::read_only);
        const Read found = read(database, request, one_thread);
        (found.by_sqlite == 0 ? from_file : by_sqlite) += 1;
        INFO("round " << round << ", " << name);
        if (found.by_sqlite == 0) CHECK((should && found.rows == *should));
      } catch (const Error&) {
        ++errors;
      }
    }
  }
  // Each of them was tried.
  CHECK(from_file > 100);
  CHECK(by_sqlite > 20);
  CHECK(errors > 20);
}
