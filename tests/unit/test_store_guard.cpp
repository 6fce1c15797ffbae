// The limit on SQLite's memory, of which there is one in a process.
#include <catch2/catch.hpp>

#include "libprof/store/guard.hpp"
#include "libprof/store/sqlite.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using store::Database;

TEST_CASE("the limit on SQLite's memory is the lowest one that was set") {
  const test::TemporaryFolder folder;
  const auto file = [&](Database::Mode mode) { return Database(folder / "run.sqlite", mode); };
  const auto limit = [] {
    return Database(":memory:", Database::Mode::create).integer("PRAGMA hard_heap_limit").value();
  };
  file(Database::Mode::create).execute("CREATE TABLE t(x)");
  const Database reader = file(Database::Mode::read_only);
  const std::int64_t needed = limit();
  REQUIRE(needed > 0);
  store::limit_memory(2 * needed);
  CHECK(limit() == needed);
  store::limit_memory(needed / 2);
  CHECK(limit() == needed / 2);
  const Database another = file(Database::Mode::read_only);
  CHECK(limit() == needed / 2);
  store::limit_memory(needed);
  CHECK(limit() == needed / 2);
}
