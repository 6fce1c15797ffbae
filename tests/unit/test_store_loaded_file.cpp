// The file while it grows, when it is finished, and when its writer is killed.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/loader.hpp"
#include "schema/tables.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using store::Database;
using test::kernels;
using test::make_loader;
using test::rows;

TEST_CASE("what is committed others see while the loader goes on") {
  const test::TemporaryFolder folder;
  store::Loader loader = make_loader(folder / "run.sqlite");
  Database reader(folder / "run.sqlite", Database::Mode::read_only);
  const std::string count = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL";
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(kernels(1, {1, 2}));
  CHECK(reader.integer(count) == 0);
  loader.commit();
  CHECK(reader.integer(count) == 2);
  loader.load(kernels(1, {3}));
  CHECK(reader.integer(count) == 2);
  loader.commit();
  CHECK(reader.integer(count) == 3);
}

TEST_CASE("a finished file is an ordinary one with all of nvprof's tables") {
  for (const bool live : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "run.sqlite";
    {
      store::Loader loader = make_loader(path, {.live = live});
      loader.load(test::hello(1, 100));
      loader.load(test::table(1, test::tables::kernel));
      loader.load(kernels(1, {1, 2}));
      loader.finish();
      CHECK(!std::filesystem::exists(path + "-wal"));
      CHECK(!std::filesystem::exists(path + "-journal"));
    }
    CHECK(!std::filesystem::exists(path + "-shm"));
    Database database(path, Database::Mode::read_only);
    CHECK(database.text("PRAGMA journal_mode") == "delete");
    CHECK(database.text("PRAGMA integrity_check") == "ok");
    CHECK(database.integer("SELECT version FROM Version") == 18);
    CHECK(database.integer("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == 2);
    for (const schema::Table& table : schema::legacy::tables) {
      INFO(table.name);
      CHECK(database.integer("SELECT count(*) FROM " + std::string(table.name)) == 0);
      CHECK(database.text("SELECT type FROM sqlite_master WHERE name = '" +
                          std::string(table.name) + "'") == (table.is_view ? "view" : "table"));
    }
    for (const schema::Index& index : schema::indexes) {
      INFO(index.table);
      CHECK(database.has_table(index.table));
      const bool rows = database.integer("SELECT 1 FROM " + std::string(index.table)).has_value();
      CHECK(database.integer("SELECT count(*) FROM sqlite_master WHERE type = 'index' AND "
                             "tbl_name = '" +
                             std::string(index.table) + "'") == rows);
    }
    for (const schema::Table* table : schema::own_tables) CHECK(database.has_table(table->name));
  }
}

TEST_CASE("a small file has small pages, and says whose it is") {
  for (const bool live : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "run.sqlite";
    { make_loader(path, {.live = live}).finish(); }
    CHECK(std::filesystem::file_size(path) < 310 * 1024);
    CHECK(Database(path, Database::Mode::read_only).integer("PRAGMA application_id") == 0x67707266);
    CHECK(Database(path, Database::Mode::read_only).integer("PRAGMA user_version") ==
          schema::schema_version);
  }
}

TEST_CASE("a small file that somebody reads stays as it is, and whole") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.sqlite";
  store::Loader loader = make_loader(path, {.live = false});
  Database reader(path, Database::Mode::read_only);
  store::Statement reading = reader.prepare("SELECT * FROM COLUMN_DOC");
  CHECK(reading.step());
  store::use_small_pages(loader.database());
  CHECK(loader.database().integer("PRAGMA page_size") == 16384);
  CHECK(loader.database().text("PRAGMA integrity_check") == "ok");
}

TEST_CASE("indexes can be left out") {
  store::Loader loader = make_loader(":memory:", {.indexes = false});
  loader.finish();
  CHECK(loader.database().integer(
            "SELECT count(*) FROM sqlite_master WHERE name LIKE 'INDEX_CUPTI%'") == 0);
}

TEST_CASE("a reader that stays does not spoil the end") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.sqlite";
  store::Loader loader = make_loader(path);
  loader.load(test::hello(1, 100));
  Database reader(path, Database::Mode::read_only);
  store::Statement reading = reader.prepare("SELECT * FROM STATISTIC_DOC");
  CHECK(reading.step());
  CHECK_NOTHROW(loader.finish());
  CHECK(reading.step());
  reading.reset();
  CHECK(reader.integer("SELECT value FROM RUN WHERE key = 'finished'") == 1);
}

TEST_CASE("a loader killed at work leaves a sound file with what it had committed") {
  for (const bool live : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "run.sqlite";
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      store::Loader loader = make_loader(path, {.live = live});
      loader.load(test::hello(1, 100));
      loader.load(test::table(1, test::tables::kernel));
      std::vector<std::uint32_t> ids(20'000);
      for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i + 1;
      loader.load(kernels(1, ids));
      loader.commit();
      // More than the page cache holds: some of it is in the file already.
      loader.database().execute("PRAGMA cache_size = 10");
      for (int i = 0; i < 5; ++i) loader.load(kernels(1, ids));
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGKILL);
    Database database(path, Database::Mode::read_write);
    CHECK(database.text("PRAGMA integrity_check") == "ok");
    CHECK(database.integer("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == 20'000);
    CHECK(database.integer("SELECT value FROM RUN WHERE key = 'finished'") == 0);
  }
}

TEST_CASE("a database that cannot be written says so, with its path") {
  CHECK_THROWS_WITH(make_loader("/no/such/folder/run.sqlite"), Catch::Contains("/no/such/folder"));
  const test::TemporaryFolder folder;
  test::write_file(folder / "text", std::string(5000, 'x'));
  CHECK_THROWS_AS(make_loader(folder / "text"), Error);
}
