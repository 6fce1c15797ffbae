#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/store/ordered_rows.hpp"

using namespace gpuprof::store;

namespace {

constexpr int rows = 100'000;

using Line = std::vector<std::int64_t>;

// As OrderedRows gives them, and as SQLite sorts them.
std::vector<Line> ordered(Snapshot& snapshot, const Selection& selection) {
  OrderedRows source(snapshot, selection, "start");
  std::vector<Line> lines;
  while (source.step()) {
    lines.push_back({source.key(), source.row().integer(0), source.row().integer(1)});
  }
  CHECK_FALSE(source.step());
  return lines;
}

std::vector<Line> sorted(Database& database, const std::string& where) {
  auto source =
      database.prepare("SELECT start, _id_, v FROM t WHERE " + where + " ORDER BY start, _id_");
  std::vector<Line> lines;
  while (source.step()) {
    lines.push_back({source.integer(0), source.integer(1), source.integer(2)});
  }
  return lines;
}

}  // namespace

TEST_CASE("rows come in the order of their keys, however they are stored", "[tsan]") {
  std::mt19937_64 random(3);
  const std::string name = GENERATE(
      as<std::string>{}, "in order", "reversed", "nearly in order", "one that waited long",
      "two processes in turn", "one process after the other", "equal", "at random", "sparse ids");
  INFO(name);
  const auto key = [&](std::int64_t i) -> std::int64_t {
    if (name == "reversed") return rows - i;
    if (name == "nearly in order") return i + static_cast<std::int64_t>(random() % 2000);
    if (name == "one that waited long") return i == 70'000 ? 1 : i;
    if (name == "two processes in turn") return i / 5000 % 2 ? i - 5000 : i;
    if (name == "one process after the other") return i % (rows / 2);
    if (name == "equal") return 5;
    if (name == "at random") return static_cast<std::int64_t>(random() % 1'000'000);
    return i;
  };
  const std::string path = "gpuprof_ordered_" + std::to_string(getpid()) + ".sqlite";
  std::filesystem::remove(path);
  {
    Database database(path, Database::Mode::create);
    database.execute("CREATE TABLE t(_id_ INTEGER PRIMARY KEY, start INT, v INT); BEGIN");
    auto insert = database.prepare("INSERT INTO t VALUES(?1, ?2, ?3)");
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t id = name != "sparse ids" ? i - 50 : i * i * 1'000'000;
      insert.bind(1, id).bind(2, key(i)).bind(3, static_cast<std::int64_t>(random() % 10)).run();
    }
    database.execute("COMMIT");
    Snapshot snapshot(database, {.threads = 2, .parallel_from_bytes = 0});
    const auto lines = ordered(snapshot, {.table = "t", .columns = {"_id_", "v"}});
    CHECK(lines.size() == rows);
    CHECK((lines == sorted(database, "1")));
    CHECK((ordered(snapshot, {.table = "t",
                              .columns = {"_id_", "v"},
                              .where = "v = ?1",
                              .values = {std::int64_t{3}}}) == sorted(database, "v = 3")));
    CHECK(ordered(snapshot, {.table = "t", .columns = {"_id_", "v"}, .where = "0"}).empty());
  }
  std::filesystem::remove(path);
}

TEST_CASE("views, empty tables and keys that are NULL can be read in order") {
  Database database(":memory:", Database::Mode::create);
  database.execute(
      "CREATE TABLE t(_id_ INTEGER PRIMARY KEY, start INT, v INT); CREATE TABLE vacant(start);"
      "INSERT INTO t VALUES(1, 30, 7), (2, 10, 8), (3, NULL, 9), (4, 20, 6);"
      "CREATE VIEW shown AS SELECT * FROM t;"
      "CREATE TABLE without(_id_ INTEGER PRIMARY KEY, start INT, v INT) WITHOUT ROWID;"
      "INSERT INTO without SELECT * FROM t");
  Snapshot snapshot(database);
  const std::vector<Line> lines{{0, 3, 9}, {10, 2, 8}, {20, 4, 6}, {30, 1, 7}};
  CHECK(ordered(snapshot, {.table = "t", .columns = {"_id_", "v"}}) == lines);
  CHECK(ordered(snapshot, {.table = "shown", .columns = {"_id_", "v"}}) == lines);
  CHECK(ordered(snapshot, {.table = "without", .columns = {"_id_", "v"}}) == lines);
  CHECK(ordered(snapshot, {.table = "vacant", .columns = {"start", "start"}}).empty());
  CHECK_THROWS_AS(ordered(snapshot, {.table = "missing", .columns = {"v", "v"}}), gpuprof::Error);
}
