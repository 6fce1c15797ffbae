#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/read/window.hpp"

using namespace gpuprof::reading;
using gpuprof::store::Database;

namespace {

Database database(const std::string& sql) {
  Database database(":memory:", Database::Mode::create);
  database.execute(sql);
  return database;
}

constexpr char records[] = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(0, 0), (500, 600), (300, 400);
  CREATE TABLE cupti_activity_kind_memcpy(start INT, end INT);
  INSERT INTO cupti_activity_kind_memcpy VALUES(200, 250);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(id INT);
  CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringTable VALUES(1, 'step'), (2, 'open');
  CREATE TABLE NVTX_RANGE(start INT, stop INT, name INT);
  INSERT INTO NVTX_RANGE VALUES(700, 800, 1), (350, 450, 1), (900, NULL, 2);
)";

Window window(Database& database, const Moment& from, const Moment& to) {
  Tables tables(database);
  return find_window(tables, from, to, [&] { return zero_of_run(tables).value_or(0); });
}

}  // namespace

TEST_CASE("moments are times with a unit, or names of NVTX ranges") {
  CHECK(parse_moment("1.5")->ns == 1'500'000'000);
  CHECK(parse_moment("1.5s")->ns == 1'500'000'000);
  CHECK(parse_moment("20ms")->ns == 20'000'000);
  CHECK(parse_moment("7us")->ns == 7'000);
  CHECK(parse_moment("12ns")->ns == 12);
  CHECK(parse_moment("1.2e+03s")->ns == 1'200'000'000'000);
  CHECK(parse_moment("3.62e+09ns")->ns == 3'620'000'000);
  CHECK(parse_moment("4.10e-03s")->ns == 4'100'000);
  CHECK(parse_moment("-3.5ms")->ns == -3'500'000);
  const auto range = parse_moment("nvtx:epoch: 1");
  CHECK((range->range == "epoch: 1" && !range->ns && range->given()));
  CHECK_FALSE(Moment().given());
  for (const char* wrong : {"", "s", "1m", "1.2.3", "-1", "nvtx:", "1e3", "99999999999s", "1 s",
                            "e3s", "1-2s", "inf", "infs", "nans", "1e400s"}) {
    INFO(wrong);
    CHECK_FALSE(parse_moment(wrong));
  }
}

TEST_CASE("a run's times count from its first record that has a time, or from what RUN says") {
  Database file = database(records);
  Tables tables(file);
  CHECK(zero_of_run(tables) == 200);
  Database ours = database(std::string(records) +
                           "CREATE TABLE RUN(key TEXT, value); "
                           "INSERT INTO RUN VALUES('zero_ns', 150)");
  Tables of_ours(ours);
  CHECK(zero_of_run(of_ours) == 150);
  // Tables of others that have the names of ours.
  Database other = database(
      "CREATE TABLE RUN(day INT); CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS "
      "SELECT 7 AS start");
  Tables of_other(other);
  CHECK(zero_of_run(of_other) == std::nullopt);
}

TEST_CASE("a window is between two moments, and open where nothing is said") {
  Database file = database(records);
  const Window times = window(file, {.ns = 20}, {.ns = 80});
  CHECK((times.from == 220 && times.to == 280));
  const Window range = window(file, {.range = "step"}, {.range = "step"});
  CHECK((range.from == 350 && range.to == 450));
  const Window unclosed = window(file, {.range = "open"}, {.range = "open"});
  CHECK((unclosed.from == 900 && !unclosed.to));
  const Window all = window(file, {}, {});
  CHECK((!all.from && !all.to));
  CHECK(window(file, {.ns = INT64_MAX}, {}).from == INT64_MAX);
  CHECK_THROWS_WITH(window(file, {.range = "none"}, {}), "no NVTX range is called none");
}
