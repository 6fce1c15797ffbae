#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <random>
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

// Of the column v, by all of the snapshot's threads.
Sums sums(Snapshot& snapshot, const std::string& table) {
  const std::string id = row_id_name(snapshot.database(), table);
  const std::int64_t parts = static_cast<std::int64_t>(id.empty() ? 1 : snapshot.threads());
  std::vector<Sums> all(static_cast<std::size_t>(parts));
  std::vector<std::exception_ptr> thrown(all.size());
  const auto read = [&](std::size_t thread) {
    try {
      Sums& to = all[thread];
      RowReading reading(snapshot.reader(thread), snapshot.has_own_readers(), table, {"v"}, id,
                         [&](ScannedRow row) {
                           ++to.rows;
                           to.sum += row.integer(0);
                         });
      if (id.empty()) return reading.read_all();
      const std::int64_t step = 150'000 / parts, first = static_cast<std::int64_t>(thread) * step;
      reading.read(first, thread + 1 == all.size() ? INT64_MAX : first + step - 1);
    } catch (...) {
      thrown[thread] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < all.size(); ++i) threads.emplace_back(read, i);
  }
  Sums sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (thrown[i]) std::rethrow_exception(thrown[i]);
    sum.rows += all[i].rows;
    sum.sum += all[i].sum;
  }
  return sum;
}

}  // namespace

TEST_CASE("small files, files in memory and files in a transaction are read by one thread") {
  const auto sql = "CREATE TABLE t(v INT);" + numbers("INSERT INTO t SELECT i", 50'000);
  const std::int64_t sum = 50'000LL * 50'001 / 2;
  const auto check = [&](Snapshot& snapshot) {
    CHECK(snapshot.threads() == 1);
    const Sums found = sums(snapshot, "t");
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

TEST_CASE("another thread reads the same state at the same time", "[tsan]") {
  const TemporaryFile file("other");
  Database writer = make(file, "PRAGMA journal_mode = WAL; CREATE TABLE t(v INT);" +
                                   numbers("INSERT INTO t SELECT i", 50'000));
  Database database(file.path(), Database::Mode::read_only);
  {
    Snapshot alone(database, four_threads);
    CHECK_FALSE(alone.other());
  }
  Snapshot snapshot(database, {.threads = 2, .parallel_from_bytes = 0, .twice = true});
  Snapshot* const other = snapshot.other();
  REQUIRE(other);
  CHECK(snapshot.threads() == 2);
  CHECK(other->threads() == 2);
  writer.execute("DELETE FROM t");
  Sums theirs;
  {
    const std::jthread thread([&] { theirs = sums(*other, "t"); });
    CHECK(sums(snapshot, "t").rows == 50'000);
  }
  CHECK(theirs.rows == 50'000);
  CHECK(other->database().integer("SELECT count(*) FROM t") == 50'000);
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

TEST_CASE("tables of any shape can be read") {
  const TemporaryFile file("shapes");
  Database database =
      make(file, "CREATE TABLE plain(v INT);" + numbers("INSERT INTO plain SELECT i", 40'000) +
                     // Columns with the row id's names hide it.
                     "CREATE TABLE named(rowid INT, _rowid_ TEXT, v INT);"
                     "INSERT INTO named SELECT NULL, 'x', v FROM plain;"
                     "CREATE TABLE hidden(rowid INT, _ROWID_ INT, oid INT, v INT);"
                     "INSERT INTO hidden SELECT 5, 5, 5, v FROM plain;"
                     "CREATE TABLE without(v INT PRIMARY KEY) WITHOUT ROWID;"
                     "INSERT INTO without SELECT v FROM plain;"
                     "CREATE TABLE \"odd \"\"name\"(v INT);"
                     "INSERT INTO \"odd \"\"name\" SELECT v FROM plain;"
                     "CREATE TABLE indexed(v INT, w INT);"
                     "INSERT INTO indexed SELECT v, v FROM plain;"
                     "CREATE INDEX of_v ON indexed(v);"
                     "CREATE TABLE covered(v INT); INSERT INTO covered SELECT v FROM plain;"
                     "CREATE TEMP TABLE covered(v INT); INSERT INTO temp.covered VALUES(7)");
  Snapshot snapshot(database, four_threads);
  REQUIRE(snapshot.threads() == 4);
  const std::string table = GENERATE(as<std::string>{}, "plain", "PLAIN", "named", "hidden",
                                     "without", "odd \"name", "indexed", "covered");
  INFO(table);
  const Sums found = sums(snapshot, table);
  CHECK(found.rows == 40'000);
  CHECK(found.sum == 40'000LL * 40'001 / 2);
  CHECK(row_id_name(database, table).empty() == (table == "hidden" || table == "without"));
}

TEST_CASE("a row has integers, reals, texts, blobs and NULLs") {
  Database database(":memory:", Database::Mode::create);
  database.execute(
      "CREATE TABLE t(i, r, s, b, n); INSERT INTO t VALUES(-5, 1.5, 'text', x'000102', NULL)");
  for (const bool own : {false, true}) {
    int visits = 0;
    RowReading(database, own, "t", {"i", "r", "s", "b", "n", "'18'"}, "rowid", [&](ScannedRow row) {
      ++visits;
      CHECK(row.type(0) == ValueType::integer);
      CHECK(row.integer(0) == -5);
      CHECK(row.type(1) == ValueType::real);
      CHECK(row.real(1) == 1.5);
      CHECK(row.type(2) == ValueType::text);
      CHECK(row.text(2) == "text");
      CHECK(row.type(3) == ValueType::blob);
      REQUIRE(row.blob(3).size() == 3);
      CHECK(row.blob(3)[2] == std::byte{2});
      CHECK(row.type(4) == ValueType::null);
      CHECK(row.is_null(4));
      CHECK_FALSE(row.is_null(0));
      CHECK(row.integer(4) == 0);
      CHECK(row.text(4).empty());
      CHECK(row.blob(4).empty());
      CHECK(row.integer(5) == 18);
    }).read(1, 1);
    CHECK(visits == 1);
  }
}

TEST_CASE("reading what is not there is an error") {
  const TemporaryFile file("wrong");
  Database database = make(file, "CREATE TABLE t(v INT); INSERT INTO t VALUES(1), (2)");
  const auto read = [&](const std::string& table, const std::string& column) {
    RowReading(database, true, table, {column}, "", [](ScannedRow) {}).read_all();
  };
  CHECK_THROWS_AS(read("nothing", "v"), gpuprof::Error);
  CHECK_THROWS_AS(read("t", "w"), gpuprof::Error);
  CHECK_NOTHROW(read("t", "v"));
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
    const Sums first = sums(snapshot, "t");
    const Sums second = sums(snapshot, "t");
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
    CHECK(sums(snapshot, "t").sum == 100'000);
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
  const Sums found = sums(snapshot, "t");
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
  CHECK(sums(snapshot, "t").sum == 1);
}
