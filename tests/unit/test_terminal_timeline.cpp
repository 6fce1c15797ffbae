// Busy time in columns.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "libprof/terminal/busy_cells.hpp"
#include "libprof/terminal/timeline.hpp"
#include "tests/unit/empty_profile.hpp"

using namespace gpuprof;
using terminal::BusyCells;

namespace {

store::Database timeline_profile(const std::string& sql) {
  store::Database database = test::empty_profile();
  database.execute(
      "INSERT INTO StringTable(_id_, value) VALUES(1, 'step'), (2, 'in' || char(27));" + sql);
  return database;
}

std::string work(std::int64_t begin, std::int64_t end, int stream = 7, int context = 1) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end, deviceId, contextId, "
         "streamId, processId) VALUES(" +
         std::to_string(begin) + ", " + std::to_string(end) + ", 0, " + std::to_string(context) +
         ", " + std::to_string(stream) + ", 5);";
}

std::string opened(int id, std::int64_t begin, const std::string& end, int depth, int name) {
  return "INSERT INTO NVTX_RANGE(_id_, processId, threadId, start, stop, depth, name) VALUES(" +
         std::to_string(id) + ", 5, 6, " + std::to_string(begin) + ", " + end + ", " +
         std::to_string(depth) + ", " + std::to_string(name) + ");";
}

terminal::Timeline timeline_of(store::Database& database, terminal::TimelineOptions options) {
  return terminal::read(database, options, [] {});
}

}  // namespace

TEST_CASE("cells have the union of what came, however wide they became") {
  std::mt19937_64 random(7);
  for (const std::int64_t longest : {100, 10'000, 100'000'000}) {
    constexpr std::int64_t origin = 1'000;
    BusyCells busy(origin);
    std::int64_t begin = origin, until = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> parts;  // that do not overlap
    for (int i = 0; i < 5'000; ++i) {
      begin += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest));
      const std::int64_t end =
          begin + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * longest));
      busy.add(begin, end);
      if (end > until) parts.emplace_back(std::max(begin, until), end);
      until = std::max(until, end);
    }
    std::uint64_t all = 0;
    std::vector<std::uint64_t> expected(busy.cells().size());
    const std::int64_t width = std::int64_t{1} << busy.shift();
    for (const auto& [from, to] : parts) {
      all += static_cast<std::uint64_t>(to - from);
      for (std::int64_t cell = (from - origin) / width; origin + cell * width < to; ++cell) {
        const std::int64_t low = origin + cell * width;
        expected.at(static_cast<std::size_t>(cell)) +=
            static_cast<std::uint64_t>(std::min(to, low + width) - std::max(from, low));
      }
    }
    CHECK(busy.busy_ns() == all);
    CHECK(busy.cells() == expected);
    CHECK(busy.cells().size() <= BusyCells::most_cells);
  }
}

TEST_CASE("columns are shares of their time, and the last one of what is left") {
  auto database = timeline_profile(work(1000, 1500) + work(1250, 2000, 8) + work(3000, 4000) +
                                   work(9000, 11000));
  const auto all = timeline_of(database, {.columns = 10});
  REQUIRE(all.gpus.size() == 1);
  CHECK(all.gpus[0].all.share == Approx(0.4));
  CHECK(all.column == 1024);
  REQUIRE(all.gpus[0].all.busy.size() == 10);
  CHECK(all.gpus[0].all.busy[0] == Approx(1000 / 1024.0));
  CHECK(all.gpus[0].all.busy[1] == Approx(48 / 1024.0));
  CHECK(all.gpus[0].all.busy[5] == 0);
  CHECK(all.gpus[0].all.busy[9] == Approx(1));  // of the 784 ns until the end
  REQUIRE(all.gpus[0].streams.size() == 2);
  CHECK(all.gpus[0].streams[0].name == "stream 7");
  CHECK(all.gpus[0].streams[0].share == Approx(0.35));
  CHECK(all.gpus[0].copies.busy.empty());

  const auto one = timeline_of(database, {.columns = 10, .streams = 1});
  CHECK(one.gpus[0].streams.size() == 1);
  CHECK(one.gpus[0].more_streams == 1);

  // A window counts what is in it, and all of its own time.
  const auto window =
      timeline_of(database, {.from = {.ns = 500}, .to = {.ns = 2500}, .columns = 10});
  CHECK(window.gpus[0].all.share == Approx((500 + 500) / 2000.0));
  CHECK(window.begin == 500);
  CHECK(window.end == 2500);
  CHECK(timeline_of(database, {.from = {.ns = 5000}, .to = {.ns = 6000}}).gpus.empty());
}

TEST_CASE("without a window, the part with nearly all of the work is shown") {
  auto database = timeline_profile(work(1, 1001) + work(1'000'001, 1'040'001) +
                                   work(1'050'001, 1'090'001) + work(9'000'001, 9'001'001));
  const auto busy = timeline_of(database, {.columns = 10});
  CHECK(!busy.part.empty());
  CHECK(busy.begin <= 1'000'000);
  CHECK(busy.begin > 900'000);
  CHECK(busy.end >= 1'090'000);
  CHECK(busy.end < 1'200'000);
  const auto all = timeline_of(database, {.from = {.ns = 0}, .columns = 10});
  CHECK(all.part.empty());
  CHECK(all.end == 9'001'000);
}

TEST_CASE("many devices that are busy for ever") {
  std::string sql;
  for (int device = 0; device < 5; ++device) {
    sql +=
        "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end, deviceId, contextId, "
        "streamId, processId) VALUES(1, " +
        std::to_string(INT64_MAX) + ", " + std::to_string(device) + ", 1, 7, 5);";
  }
  auto database = timeline_profile(sql);
  CHECK(timeline_of(database, {.columns = 10}).gpus.size() == 5);
}

TEST_CASE("a timeline takes times that cannot be") {
  const std::int64_t latest = INT64_MAX;
  auto database =
      timeline_profile(work(1, latest) + work(1, latest, 8) + work(-5, 5) + work(7, 3) +
                       work(latest - 1, latest, 9) + opened(1, INT64_MIN + 1, "NULL", 0, 1) +
                       opened(2, 5, std::to_string(latest), 99, 1));
  const auto all = timeline_of(database, {.columns = 50});
  CHECK(all.gpus.at(0).all.share == Approx(1));
  CHECK(all.gpus.at(0).all.busy.size() <= 50);
  CHECK(!text(all, 100, true).empty());
}

TEST_CASE("streams of one number are distinguished") {
  auto database = timeline_profile(work(10, 20) + work(30, 40, 7, 2));
  const auto names = timeline_of(database, {}).gpus.at(0).streams;
  REQUIRE(names.size() == 2);
  CHECK(std::min(names[0].name, names[1].name) == "context 1 stream 7");
}

TEST_CASE("ranges have the columns of which they took most") {
  auto database = timeline_profile(work(0, 1) + work(1000, 11240) + opened(1, 1000, "6120", 0, 1) +
                                   opened(2, 6120, "NULL", 0, 2) + opened(3, 1000, "1300", 1, 2));
  const auto all = timeline_of(database, {.from = {.ns = 0}, .columns = 10});
  REQUIRE(all.ranges.size() == 2);
  const auto& outer = all.ranges[0];
  REQUIRE(outer.columns.size() == 10);
  CHECK(outer.names.at(outer.columns[0]) == "step");
  CHECK(outer.names.at(outer.columns[4]) == "step");
  CHECK(outer.columns[0] == outer.columns[4]);
  CHECK(outer.columns[9] != outer.columns[0]);
  CHECK(all.ranges[1].columns[1] == terminal::Ranges::none);
  const std::string drawn = text(all, 100, false);
  CHECK(drawn.find("|step") != drawn.npos);
  INFO(drawn);
  CHECK(drawn.find("|in\\x") != drawn.npos);
  CHECK(drawn.find('\x1b') == drawn.npos);
}
