// --keep-last: what stays of a run without end.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "libprof/store/record_ring.hpp"
#include "libprof/store/string_writer.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using namespace std::chrono_literals;
using test::make_loader;
using test::rows;

namespace {

constexpr char kernel_ids[] =
    "SELECT group_concat(correlationId) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL";

void add_kernels(store::Database& database, int first, int count) {
  for (int i = 0; i < count; ++i) {
    database.execute(
        "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(correlationId, start) VALUES(" +
        std::to_string(first + i) + ", " + std::to_string(100 * (first + i)) + ")");
  }
}

}  // namespace

TEST_CASE("only the latest records stay, and what they refer to") {
  store::Loader loader = make_loader();
  store::Database& database = loader.database();
  store::RecordRing ring(database, {.time = 10s, .bytes = 0});
  const store::RecordRing::Clock::time_point begin{};
  database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_STREAM(streamId) VALUES(7)");
  // Range 1 is open for long, range 2 not; so is the memory at 1, and that at 2 is released.
  database.execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER(processId, id, flags) VALUES(5, 1, 2), (5, 2, 2), "
      "(5, 2, 4), (6, 1, 2), (6, 1, 4), (5, 3, 1)");
  database.execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER_DATA(processId, id) VALUES(5, 1), (5, 2)");
  database.execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(processId, deviceId, address, memoryOperationType) "
      "VALUES(5, 0, 1, 1), (5, 0, 2, 1), (5, 0, 2, 2)");
  add_kernels(database, 1, 3);
  ring.trim(begin);
  add_kernels(database, 4, 2);
  ring.trim(begin + 5s);
  CHECK(rows(database, kernel_ids) == "1,2,3,4,5");
  add_kernels(database, 6, 1);
  ring.trim(begin + 10s);
  CHECK(rows(database, kernel_ids) == "4,5,6");
  CHECK(rows(database, "SELECT processId, id FROM CUPTI_ACTIVITY_KIND_MARKER") == "5|1");
  CHECK(rows(database, "SELECT id FROM CUPTI_ACTIVITY_KIND_MARKER_DATA") == "1");
  CHECK(rows(database, "SELECT address FROM CUPTI_ACTIVITY_KIND_MEMORY2") == "1");
  CHECK(rows(database, "SELECT streamId FROM CUPTI_ACTIVITY_KIND_STREAM") == "7");
  CHECK(ring.let_go() == 3 + 5 + 1 + 2);
  CHECK(ring.first_time() == 400);

  // When range and memory end, they go with the rest.
  database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER(processId, id, flags) VALUES(5, 1, 4)");
  database.execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(processId, deviceId, address, memoryOperationType) "
      "VALUES(5, 0, 1, 2)");
  ring.trim(begin + 11s);
  ring.trim(begin + 22s);
  for (const char* kind : {"CONCURRENT_KERNEL", "MARKER", "MARKER_DATA", "MEMORY2"}) {
    CHECK(rows(database, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_" + std::string(kind)) == "0");
  }

  // An empty table numbers its rows from 1 again, which no older mark means.
  add_kernels(database, 7, 5);
  ring.trim(begin + 23s);
  CHECK(rows(database, kernel_ids) == "7,8,9,10,11");
  ring.trim(begin + 32s);
  CHECK(rows(database, kernel_ids) == "7,8,9,10,11");
  ring.trim(begin + 34s);
  CHECK(rows(database, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == "0");
}

TEST_CASE("a file keeps its size while records come") {
  store::Loader loader = make_loader();
  store::Database& database = loader.database();
  const auto pages = [&] { return *database.integer("PRAGMA page_count"); };
  const std::int64_t before = pages();
  store::RecordRing ring(database, {.time = {}, .bytes = 1'000'000});
  const auto come = [&](int thousands) {
    for (int i = 0; i < thousands; ++i) {
      database.execute(
          "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, end, correlationId) "
          "SELECT i + 1000000, i + 1000001, i + 1000000 FROM n");
      ring.loaded(20'000);
      ring.trim({});
    }
  };
  come(100);
  const std::int64_t after = pages();
  come(100);
  CHECK(pages() <= after + 1);
  CHECK((after - before) * *database.integer("PRAGMA page_size") < 1'200'000);
  CHECK(*database.integer("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME") > 20'000);
}

TEST_CASE("texts that no row refers to any more go") {
  store::Database database = test::empty_profile();
  store::StringWriter strings(database, 4000);  // so that most are looked up by their hashes
  std::int64_t used = 0;
  for (int i = 0; i < 100; ++i) used = strings.id("message " + std::to_string(i));
  const std::int64_t in_use = strings.id("in a collector's table");
  database.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_MARKER(name) VALUES(?1)").bind(1, used).run();
  CHECK(strings.added() == 101);
  strings.remove_unused([&](const auto& use) { use(in_use); });
  CHECK(strings.added() == 0);
  CHECK(rows(database, "SELECT value FROM StringTable ORDER BY _id_") ==
        "-- null -- message 99 in a collector's table");
  CHECK(strings.id("message 99") == used);
  CHECK(strings.id("in a collector's table") == in_use);
  CHECK(strings.id("message 5") > in_use);
}
