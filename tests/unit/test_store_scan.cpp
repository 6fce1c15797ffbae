#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/store/scan.hpp"

using namespace gpuprof::store;

namespace {

constexpr SnapshotOptions four_threads{.threads = 4, .parallel_from_bytes = 0};

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_("gpuprof_scan_" + std::to_string(getpid()) + "_" + name + ".sqlite") {
    remove();
  }
  ~TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  void remove() {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      std::filesystem::remove(path_ + suffix);
    }
  }
  std::string path_;
};

Database make(const TemporaryFile& file, const std::string& sql) {
  Database database(file.path(), Database::Mode::create);
  database.execute("PRAGMA synchronous = OFF");
  database.execute(sql);
  return database;
}

// Rows with the ids `first`, `first` + `step`, …
std::string numbers(const std::string& insert, int count, int first = 1, int step = 1) {
  return "WITH n(i) AS (SELECT " + std::to_string(first) + " UNION ALL SELECT i + " +
         std::to_string(step) + " FROM n LIMIT " + std::to_string(count) + ") " + insert +
         " FROM n;";
}

struct Sums {
  std::int64_t rows = 0;
  std::int64_t sum = 0;
};

// Of the first column.
Sums sums(Snapshot& snapshot, const Selection& selection) {
  Sums all;
  for (const Sums& part : snapshot.scan<Sums>(selection, [](Sums&to, Row row) {
         ++to.rows;
         to.sum += row.integer(0);
       })) {
    all.rows += part.rows;
    all.sum += part.sum;
  }
  return all;
}

}  // namespace

TEST_CASE("a scan by several threads visits each row once", "[tsan]") {
  const TemporaryFile file("once");
  Database database = make(file, "CREATE TABLE t(_id_ INTEGER PRIMARY KEY, v INT);" +
                                     numbers("INSERT INTO t SELECT i, i * 3", 100'000));
  Snapshot snapshot(database, four_threads);
  REQUIRE(snapshot.threads() == 4);
  const auto parts = snapshot.scan<std::vector<std::int64_t>>(
      {.table = "t", .columns = {"_id_", "v"}}, [](std::vector<std::int64_t>& ids, Row row) {
        if (row.integer(1) == 3 * row.integer(0)) ids.push_back(row.integer(0));
      });
  CHECK(parts.size() == 4);
  std::vector<std::int64_t> ids;
  for (const auto& part : parts) ids.insert(ids.end(), part.begin(), part.end());
  std::ranges::sort(ids);
  REQUIRE(ids.size() == 100'000);
  CHECK(ids.front() == 1);
  CHECK(ids.back() == 100'000);
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
}

TEST_CASE("small files, files in memory and files in a transaction are read by one thread") {
  const auto sql = "CREATE TABLE t(v INT);" + numbers("INSERT INTO t SELECT i", 50'000);
  const std::int64_t sum = 50'000LL * 50'001 / 2;
  const auto check = [&](Snapshot& snapshot) {
    CHECK(snapshot.threads() == 1);
    const Sums found = sums(snapshot, {.table = "t", .columns = {"v"}});
    CHECK(found.rows == 50'000);
    CHECK(found.sum == sum);
  };
  const TemporaryFile file("one");
  SECTION("small") {
    Database database = make(file, sql);
    Snapshot snapshot(database, {.threads = 4});
    check(snapshot);
  }
  SECTION("in memory") {
    Database database(":memory:", Database::Mode::create);
    database.execute(sql);
    Snapshot snapshot(database, four_threads);
    check(snapshot);
  }
  SECTION("in a transaction, whose changes are seen") {
    Database database = make(file, "CREATE TABLE other(v INT)");
    database.execute("BEGIN");
    database.execute(sql);
    {
      Snapshot snapshot(database, four_threads);
      check(snapshot);
    }
    database.execute("ROLLBACK");
    CHECK_FALSE(database.has_table("t"));
  }
  SECTION("in the state that an unfinished statement holds") {
    Database writer = make(file, "PRAGMA journal_mode = WAL;" + sql);
    Database reader(file.path(), Database::Mode::read_only);
    auto unfinished = reader.prepare("SELECT v FROM t");
    REQUIRE(unfinished.step());
    writer.execute("DELETE FROM t");
    Snapshot snapshot(reader, four_threads);
    check(snapshot);
  }
}

TEST_CASE("after a snapshot the database is as before") {
  const TemporaryFile file("after");
  Database database = make(file, "CREATE TABLE t(v INT);" + numbers("INSERT INTO t SELECT i", 10));
  { const Snapshot snapshot(database, four_threads); }
  database.execute("BEGIN");
  database.execute("INSERT INTO t VALUES(11)");
  database.execute("COMMIT");
  CHECK(database.integer("SELECT sum(v) FROM t") == 66);
}

TEST_CASE("row ids may be anything") {
  const TemporaryFile file("ids");
  Database database = make(file, "CREATE TABLE t(_id_ INTEGER PRIMARY KEY, v INT)");
  std::int64_t rows = 0;
  SECTION("none") {}
  SECTION("one") {
    database.execute("INSERT INTO t VALUES(7, 1)");
    rows = 1;
  }
  SECTION("the lowest and the highest, and some between") {
    database.execute(
        "INSERT INTO t VALUES(-9223372036854775808, 1), (9223372036854775807, 1), (-1, 1), (0, 1)");
    database.execute(numbers("INSERT INTO t SELECT i, 1", 70'000, 100, 1));
    rows = 70'004;
  }
  SECTION("with holes, as in a slice") {
    database.execute(numbers("INSERT INTO t SELECT i, 1", 40'000, 1'000'000, 7));
    database.execute(numbers("INSERT INTO t SELECT i, 1", 40'000, 2'000'000'000, 2));
    rows = 80'000;
  }
  Snapshot snapshot(database, four_threads);
  REQUIRE(snapshot.threads() == 4);
  const Sums found = sums(snapshot, {.table = "t", .columns = {"v"}});
  CHECK(found.rows == rows);
  CHECK(found.sum == rows);
}

TEST_CASE("tables and views of any shape can be scanned") {
  const TemporaryFile file("shapes");
  Database database = make(
      file, "CREATE TABLE plain(v INT);" + numbers("INSERT INTO plain SELECT i", 40'000) +
                // Columns with the row id's names hide it.
                "CREATE TABLE named(rowid INT, _rowid_ TEXT, v INT);"
                "INSERT INTO named SELECT NULL, 'x', v FROM plain;"
                "CREATE TABLE hidden(rowid INT, _ROWID_ INT, oid INT, v INT);"
                "INSERT INTO hidden SELECT 5, 5, 5, v FROM plain;"
                "CREATE TABLE without(v INT PRIMARY KEY) WITHOUT ROWID;"
                "INSERT INTO without SELECT v FROM plain;"
                "CREATE VIEW shown AS SELECT v FROM plain;"
                "CREATE TABLE \"odd \"\"name\"(v INT);"
                "INSERT INTO \"odd \"\"name\" SELECT v FROM plain;"
                "CREATE TABLE indexed(v INT, w INT);"
                "INSERT INTO indexed SELECT v, v FROM plain;"
                "CREATE INDEX of_v ON indexed(v);"
                "CREATE TABLE covered(v INT);"
                "CREATE TEMP TABLE covered(v INT); INSERT INTO temp.covered SELECT v FROM plain");
  Snapshot snapshot(database, four_threads);
  REQUIRE(snapshot.threads() == 4);
  const std::string table = GENERATE(as<std::string>{}, "plain", "PLAIN", "named", "hidden",
                                     "without", "shown", "odd \"name", "indexed", "covered");
  INFO(table);
  const Sums found = sums(snapshot, {.table = table, .columns = {"v"}});
  CHECK(found.rows == 40'000);
  CHECK(found.sum == 40'000LL * 40'001 / 2);
  const Sums some = sums(snapshot, {.table = table,
                                    .columns = {"v + ?2"},
                                    .where = "v > 100 OR v = ?1",
                                    .values = {std::int64_t{100}, 0.0}});
  CHECK(some.rows == 39'901);
  CHECK(some.sum == 40'000LL * 40'001 / 2 - 99 * 100 / 2);
}

TEST_CASE("a row has integers, reals, texts, blobs and NULLs") {
  const TemporaryFile file("values");
  Database database = make(file,
                           "CREATE TABLE t(i, r, s, b, n);"
                           "INSERT INTO t VALUES(-5, 1.5, 'text', x'000102', NULL)");
  const auto check = [](int& visits, Row row) {
    ++visits;
    CHECK(row.integer(0) == -5);
    CHECK(row.real(1) == 1.5);
    CHECK(row.text(2) == "text");
    REQUIRE(row.blob(3).size() == 3);
    CHECK(row.blob(3)[2] == std::byte{2});
    CHECK(row.is_null(4));
    CHECK_FALSE(row.is_null(0));
    CHECK(row.integer(4) == 0);
    CHECK(row.text(4).empty());
    CHECK(row.blob(4).empty());
    CHECK(row.integer(5) == 18);
  };
  const unsigned threads = GENERATE(1U, 2U);
  Snapshot snapshot(database, {.threads = threads, .parallel_from_bytes = threads == 1 ? 1000 : 0});
  const auto visits = snapshot.scan<int>({.table = "t",
                                          .columns = {"i", "r", "s", "b", "n", "?2"},
                                          .where = "s = ?1",
                                          .values = {std::string("text"), std::string("18")}},
                                         check);
  CHECK(visits.front() + (threads == 2 ? visits.back() : 0) == 1);
}

TEST_CASE("what a visit throws ends the scan", "[tsan]") {
  const TemporaryFile file("throws");
  Database database =
      make(file, "CREATE TABLE t(v INT);" + numbers("INSERT INTO t SELECT i", 100'000));
  const bool parallel = GENERATE(true, false);
  Snapshot snapshot(database, {.threads = 4, .parallel_from_bytes = parallel ? 0 : 1LL << 40});
  REQUIRE(snapshot.threads() == (parallel ? 4 : 1));
  CHECK_THROWS_AS(snapshot.scan<int>({.table = "t", .columns = {"v"}},
                                     [](int&, Row row) {
                                       if (row.integer(0) == 77'777) throw std::out_of_range("x");
                                     }),
                  std::out_of_range);
  CHECK(sums(snapshot, {.table = "t", .columns = {"v"}}).rows == 100'000);
}

TEST_CASE("wrong SQL in a scan is an error") {
  const TemporaryFile file("wrong");
  Database database = make(file, "CREATE TABLE t(v INT); INSERT INTO t VALUES(1), (2)");
  Snapshot snapshot(database, four_threads);
  const auto scan = [&](const Selection& selection) { sums(snapshot, selection); };
  CHECK_THROWS_AS(scan({.table = "nothing", .columns = {"v"}}), gpuprof::Error);
  CHECK_THROWS_AS(scan({.table = "t", .columns = {"w"}}), gpuprof::Error);
  CHECK_THROWS_AS(scan({.table = "t", .columns = {"v"}, .where = "v >"}), gpuprof::Error);
  CHECK(sums(snapshot, {.table = "t", .columns = {"v"}}).rows == 2);
}

// The writer moves a unit from row to row and adds rows of value 0, in one transaction each: who
// sees two states in one scan finds another sum, or other rows than were there.
TEST_CASE("all threads see the same state of a file that is being written", "[tsan]") {
  const TemporaryFile file("written");
  const std::string mode = GENERATE(as<std::string>{}, "WAL", "DELETE");
  INFO(mode);
  make(file, "PRAGMA journal_mode = " + mode + ";" +
                 "CREATE TABLE t(_id_ INTEGER PRIMARY KEY, v INT);" +
                 numbers("INSERT INTO t SELECT i, 1", 100'000));
  std::atomic<bool> done = false;
  std::atomic<int> commits = 0;
  std::thread writer([&] {
    Database database(file.path(), Database::Mode::read_write);
    database.execute("PRAGMA synchronous = OFF");
    std::mt19937 random(1);
    while (!done) {
      const std::string from = std::to_string(1 + random() % 100'000);
      const std::string to = std::to_string(1 + random() % 100'000);
      try {
        database.execute("BEGIN IMMEDIATE; UPDATE t SET v = v - 1 WHERE _id_ = " + from +
                         "; UPDATE t SET v = v + 1 WHERE _id_ = " + to +
                         "; INSERT INTO t(v) VALUES(0), (0), (0); COMMIT");
        ++commits;
      } catch (const gpuprof::Error&) {
        database.execute("ROLLBACK");
      }
    }
  });
  int parallel = 0, wrong = 0;
  std::int64_t before = 0;
  for (int round = 0; round < 40; ++round) {
    Database database(file.path(), Database::Mode::read_only);
    Snapshot snapshot(database, four_threads);
    parallel += snapshot.threads() == 4;
    const Sums first = sums(snapshot, {.table = "t", .columns = {"v"}});
    const Sums second = sums(snapshot, {.table = "t", .columns = {"v"}});
    const auto rows = database.integer("SELECT count(*) FROM t");
    wrong += first.sum != 100'000 || first.rows != rows || second.sum != first.sum ||
             second.rows != first.rows || first.rows < before || (first.rows - 100'000) % 3 != 0;
    before = first.rows;
  }
  done = true;
  writer.join();
  CHECK(wrong == 0);
  CHECK(parallel > 0);
  CHECK(commits > 0);
}

TEST_CASE("a commit between the threads' transactions is noticed") {
  const TemporaryFile file("between");
  Database database = make(file,
                           "PRAGMA journal_mode = WAL; CREATE TABLE t(_id_ INTEGER PRIMARY KEY, "
                           "v INT);" +
                               numbers("INSERT INTO t SELECT i, 1", 100'000));
  // Each opening of a file moves a unit from the table's beginning to its end, at most so often.
  static Database* writer = nullptr;
  static int left = 0;
  left = GENERATE(0, 1, 2, 5, 1000);
  INFO(left);
  const bool steady = left == 1000;
  writer = &database;
  const auto on_open = [](sqlite3*, char**, const void*) -> int {
    if (left-- > 0) {
      writer->execute(
          "BEGIN; UPDATE t SET v = v - 1 WHERE _id_ = 1;"
          "UPDATE t SET v = v + 1 WHERE _id_ = 100000; COMMIT");
    }
    return SQLITE_OK;
  };
  Database reader(file.path(), Database::Mode::read_only);
  int (*const extension)(sqlite3*, char**, const void*) = on_open;
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(extension));
  {
    Snapshot snapshot(reader, four_threads);
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(extension));
    CHECK(snapshot.threads() == (steady ? 1 : 4));
    CHECK(sums(snapshot, {.table = "t", .columns = {"v"}}).sum == 100'000);
    CHECK(reader.integer("SELECT sum(v) FROM t") == 100'000);
  }
}

TEST_CASE("files that nobody writes to are read by several threads too") {
  const TemporaryFile file("untouched"), copy("left");
  const auto mode = GENERATE(Database::Mode::untouched, Database::Mode::untouched_with_log);
  std::string path = file.path();
  const std::string rows = "CREATE TABLE t(v INT);" + numbers("INSERT INTO t SELECT i", 50'000);
  if (mode == Database::Mode::untouched) {
    make(file, rows);
  } else {
    // As a writer leaves them that is killed: the rows are in the log.
    Database writer =
        make(file, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;" + rows);
    path = copy.path();
    std::filesystem::copy_file(file.path(), path);
    std::filesystem::copy_file(file.path() + "-wal", path + "-wal");
  }
  Database database(path, mode);
  Snapshot snapshot(database, four_threads);
  CHECK(snapshot.threads() == 4);
  const Sums found = sums(snapshot, {.table = "t", .columns = {"v"}});
  CHECK(found.rows == 50'000);
  CHECK(found.sum == 50'000LL * 50'001 / 2);
}

TEST_CASE("a file that was replaced is read as it was when it was opened") {
  const TemporaryFile file("replaced"), other("replacement");
  make(file, "CREATE TABLE t(v INT); INSERT INTO t VALUES(1)");
  make(other, "CREATE TABLE t(v INT); INSERT INTO t VALUES(2)");
  Database database(file.path(), Database::Mode::read_only);
  CHECK(database.integer("SELECT v FROM t") == 1);
  std::filesystem::rename(other.path(), file.path());
  Snapshot snapshot(database, four_threads);
  CHECK(sums(snapshot, {.table = "t", .columns = {"v"}}).sum == 1);
}

TEST_CASE("totals by key are those of GROUP BY", "[tsan]") {
  const TemporaryFile file("totals");
  Database database = make(file, "CREATE TABLE t(name INT, start INT, end INT, device INT)");
  std::mt19937 random(7);
  auto insert = database.prepare("INSERT INTO t VALUES(?1, ?2, ?3, ?4)");
  database.execute("BEGIN");
  constexpr std::int64_t t0 = 1'700'000'000'000'000'000;
  for (int i = 0; i < 60'000; ++i) {
    const std::int64_t keys[] = {1, 2, 3, 40, 65'535, 65'536, 5'000'000'000, -1};
    const std::int64_t start = t0 + i * 1000LL;
    const std::int64_t length = static_cast<std::int64_t>(random() % 5000);
    insert.bind(1, keys[random() % 8]).bind(4, std::int64_t{i % 2});
    switch (random() % 50) {
      case 0: insert.bind(2, std::int64_t{0}).bind(3, std::int64_t{0}); break;
      case 1: insert.bind(2, start).bind(3, start); break;
      case 2: insert.bind(2, start).bind(3, start - 1); break;
      case 3: insert.bind(2, std::int64_t{0}).bind(3, start); break;
      case 4: insert.bind(2, start).bind(3, std::int64_t{0}); break;
      case 5: insert.bind_null(2).bind_null(3); break;
      default: insert.bind(2, start).bind(3, start + length); break;
    }
    insert.run();
  }
  database.execute("COMMIT");

  const bool parallel = GENERATE(true, false), filtered = GENERATE(true, false);
  const std::string where = filtered ? "device = 1" : "1";
  const std::string rows = " FROM t WHERE " + where + " AND ";
  Snapshot snapshot(database, {.threads = 3, .parallel_from_bytes = parallel ? 0 : 1LL << 40});
  REQUIRE(snapshot.threads() == (parallel ? 3 : 1));
  const TimeTotals totals = totals_by_key(
      snapshot, "t",
      {.key = "name", .where = filtered ? "device = ?1" : "", .values = {std::int64_t{1}}});
  auto groups = database.prepare(
      "SELECT name, count(*), sum([end] - start), min([end] - start), max([end] - start)" + rows +
      "start > 0 AND [end] > start GROUP BY 1");
  std::size_t keys = 0;
  for (; groups.step(); ++keys) {
    INFO(groups.integer(0));
    const TimeTotal& total = totals.by_key.at(groups.integer(0));
    CHECK(total.count == groups.integer(1));
    CHECK(total.sum == groups.integer(2));
    CHECK(total.min == groups.integer(3));
    CHECK(total.max == groups.integer(4));
    CHECK(total.durations.empty());
  }
  CHECK(keys == 8);
  CHECK(totals.by_key.size() == 8);
  const auto count = [&](const std::string& what) {
    return database.integer("SELECT count(*)" + rows + what).value();
  };
  auto instants =
      database.prepare("SELECT name, count(*)" + rows + "start > 0 AND [end] = start GROUP BY 1");
  std::map<std::int64_t, std::int64_t> instant;
  while (instants.step()) instant[instants.integer(0)] = instants.integer(1);
  CHECK(std::map<std::int64_t, std::int64_t>(totals.instant.begin(), totals.instant.end()) ==
        instant);
  CHECK(totals.without_times == count("(ifnull(start, 0) = 0 OR ifnull([end], 0) = 0)"));
  CHECK(totals.invalid == count("start <> 0 AND [end] <> 0 AND [end] < start"));
}

TEST_CASE("totals by key can keep each duration") {
  Database database(":memory:", Database::Mode::create);
  database.execute(
      "CREATE TABLE t(k INT, t0 INT, t1 INT);"
      "INSERT INTO t VALUES(1, 10, 13), (1, 20, 21), (2, 5, 15), (1, 30, 32), ('text', 1, 3)");
  Snapshot snapshot(database);
  TimeTotals totals = totals_by_key(
      snapshot, "t", {.key = "k * 10", .start = "t0", .end = "t1", .durations = true});
  auto& durations = totals.by_key.at(10).durations;
  std::ranges::sort(durations);
  CHECK(durations == std::vector<std::int64_t>{1, 2, 3});
  CHECK(totals.by_key.at(20).durations == std::vector<std::int64_t>{10});
  CHECK(totals.by_key.at(0).durations == std::vector<std::int64_t>{2});
}

TEST_CASE("sums of times stop at the largest integer") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  TimeTotal total;
  total.add(largest - 1);
  total.add(largest - 1);
  CHECK(total.sum == largest);
  TimeTotal other = total;
  other.add(total);
  CHECK(other.sum == largest);
  CHECK(other.count == 4);
  CHECK(other.min == largest - 1);
}
