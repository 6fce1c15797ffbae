// Trees that are made page by page are what SQLite makes of the same rows.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/store/new_trees.hpp"
#include "tests/unit/loaded.hpp"

using namespace gpuprof;
using store::Database;
using store::NewTrees;
using test::rows;

namespace {

std::int64_t any_number(std::mt19937_64& random) {
  return static_cast<std::int64_t>(random()) >> random() % 64;
}

// A table t(value) of `count` rows, whose values go up, with equal ones among them.
class File {
 public:
  File(int page_size, int count) : database_(folder_ / "file.sqlite", Database::Mode::create) {
    database_.execute("PRAGMA page_size = " + std::to_string(page_size) +
                      "; CREATE TABLE t(value); CREATE TABLE made(id INTEGER PRIMARY KEY, a, b)");
    std::mt19937_64 random(static_cast<unsigned>(count));
    for (int i = 0; i < count; ++i) values_.push_back(any_number(random));
    std::ranges::sort(values_);
    database_.execute("BEGIN");
    auto insert = database_.prepare("INSERT INTO t(value) VALUES(?1)");
    for (const std::int64_t value : values_) insert.bind(1, value).run();
    database_.execute("COMMIT");
  }

  Database& database() { return database_; }

  // Makes an index of t and the table `made`, and begins others in between; publishes them when
  // `meanwhile` has happened.
  bool make(const std::function<void()>& meanwhile = {}) {
    std::optional<NewTrees> trees;
    {
      store::Snapshot snapshot(database_);
      REQUIRE(snapshot.in_file());
      trees.emplace(snapshot);
      REQUIRE(trees->possible());
      give_up(*trees, 3);
      add_index(*trees);
      give_up(*trees, 2);
      give_up(*trees, (1 << 20) / trees->page_size() + 2);  // some of them are written
      add_table(*trees);
      give_up(*trees, 1);
    }
    if (meanwhile) meanwhile();
    return trees->publish();
  }

  void check() {
    CHECK(rows(database_, "PRAGMA integrity_check") == "ok");
    const std::string count = std::to_string(values_.size());
    CHECK(rows(database_, "SELECT count(*), count(DISTINCT id) FROM made") == count + "|" + count);
    CHECK(rows(database_,
               "SELECT count(*) FROM t JOIN made ON made.a = t.value AND made.b = t.rowid") ==
          count);
    for (const std::size_t at : {std::size_t{0}, values_.size() / 2, values_.size() - 1}) {
      if (at >= values_.size()) continue;
      CHECK(rows(database_, "SELECT count(*) > 0 FROM t INDEXED BY i WHERE value = " +
                                std::to_string(values_[at])) == "1");
    }
    // They go on as any others.
    database_.execute(
        "BEGIN; INSERT INTO t(value) SELECT value / 2 FROM t; INSERT INTO t(value) VALUES(NULL); "
        "INSERT INTO made(a) SELECT value FROM t; DELETE FROM t WHERE rowid % 3 = 0; "
        "DELETE FROM made WHERE a % 2; COMMIT");
    CHECK(rows(database_, "PRAGMA integrity_check") == "ok");
  }

 private:
  static void give_up(NewTrees& trees, std::size_t pages) {
    const std::vector<std::byte> page(trees.page_size(), std::byte{0xff});
    for (std::size_t i = 0; i < pages; ++i) trees.add_page(page);
    trees.go_back();
  }
  void add_index(NewTrees& trees) {
    store::IndexWriter writer(trees);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      writer.add(values_[i], static_cast<std::int64_t>(i) + 1);
    }
    trees.add({"index", "i", "t", "CREATE INDEX i ON t(value)", writer.finish()});
  }
  void add_table(NewTrees& trees) {
    store::TableWriter writer(trees);
    std::optional<std::int64_t> last;
    std::int64_t id = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      id = std::max(last ? *last + 1 : id, values_[i]);
      writer.add(id, std::array{values_[i], static_cast<std::int64_t>(i) + 1});
      last = id;
    }
    trees.add({"table", "made", "made", "CREATE TABLE made(id INTEGER PRIMARY KEY, a, b)",
               writer.finish()});
  }

  TemporaryFolder folder_;
  Database database_;
  std::vector<std::int64_t> values_;
};

}  // namespace

TEST_CASE("new trees: of any size") {
  // Leaves that are full, that have one cell too many, and the levels above these.
  for (int count = 0; count < 130; ++count) {
    INFO(count);
    File file(512, count);
    REQUIRE(file.make());
    file.check();
  }
  for (const int page_size : {512, 4096, 16'384, 65'536}) {
    INFO(page_size);
    File file(page_size, 20'000);
    REQUIRE(file.make());
    file.check();
  }
}

TEST_CASE("new trees: until they are published the file is what it was") {
  File file(4096, 3000);
  file.make([&] {
    Database other(file.database().path(), Database::Mode::read_write);
    CHECK(rows(other, "PRAGMA integrity_check") == "ok");
    CHECK(rows(other, "SELECT count(*) FROM made") == "0");
    CHECK(rows(other, "SELECT count(*) FROM sqlite_master") == "2");
  });
  file.check();
}

TEST_CASE("new trees: not when somebody has written meanwhile") {
  File file(4096, 3000);
  const bool made = file.make([&] {
    Database other(file.database().path(), Database::Mode::read_write);
    other.execute("INSERT INTO t(value) VALUES(5)");
  });
  CHECK_FALSE(made);
  CHECK(rows(file.database(), "PRAGMA integrity_check") == "ok");
  CHECK(rows(file.database(), "SELECT count(*) FROM made") == "0");
  CHECK(rows(file.database(), "SELECT count(*) FROM t") == "3001");
}

TEST_CASE("new trees: not into another file of the name") {
  File file(4096, 3000);
  const std::string path = file.database().path();
  std::filesystem::copy_file(path, path + "-copy");
  CHECK_FALSE(file.make([&] {
    std::filesystem::rename(path, path + "-aside");
    std::filesystem::rename(path + "-copy", path);
  }));
  Database other(path, Database::Mode::read_only);
  CHECK(rows(other, "PRAGMA integrity_check") == "ok");
}

TEST_CASE("new trees: the page with SQLite's locks stays free") {
  File file(65'536, 40'000);
  const std::string path = file.database().path();
  constexpr std::int64_t lock_page = (1 << 30) / 65'536 + 1;
  {
    Database other(path, Database::Mode::read_write);
    const std::array<std::byte, 4> pages{std::byte{0}, std::byte{0},
                                         std::byte{(lock_page - 2) >> 8},
                                         std::byte{(lock_page - 2) & 0xff}};
    std::filesystem::resize_file(path, (lock_page - 2) * 65'536);  // it has holes
    other.write_file(28, pages);
  }
  REQUIRE(file.make());
  Database& database = file.database();
  CHECK(database.integer("PRAGMA page_count").value() > lock_page + 3);
  CHECK(rows(database, "SELECT count(*) FROM t INDEXED BY i WHERE value NOT NULL") == "40000");
  CHECK(rows(database, "SELECT count(*) FROM made") == "40000");
}
