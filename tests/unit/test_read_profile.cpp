#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "libprof/base/merge.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/profile.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/read/timed_rows.hpp"

using namespace gpuprof::reading;
using gpuprof::store::Database;
using gpuprof::store::Statement;

namespace {

class Filled {
 public:
  explicit Filled(Filter filter = {})
      : database_(filled()),
        profile(database_, std::move(filter), NameStyle::modern, [](auto) {}) {}

 private:
  static Database filled() {
    Database database(":memory:", Database::Mode::create);
    database.execute(R"(
      CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
      INSERT INTO StringTable VALUES(1, '_Z4axpyv'), (2, '_Z4gemmv');
      CREATE TABLE cupti_activity_kind_kernel(start INT, end INT, deviceId INT, name INT);
      INSERT INTO cupti_activity_kind_kernel VALUES(10, 30, 0, 1), (40, 60, 1, 2), (0, 0, 0, 1),
        (70, 70, 0, 2);
      CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INT, end INT, deviceId INT);
      INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(20, 25, 1), (40, 41, 0);
      CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, cbid INT);
      INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(5, 5, 34), (50, 45, 34);
      CREATE VIEW CUPTI_ACTIVITY_KIND_DRIVER AS SELECT 1 AS start;
    )");
    return database;
  }
  Database database_;

 public:
  Profile profile;
};

std::string all(Statement rows) {
  std::string text;
  while (rows.step()) {
    if (!text.empty()) text += ' ';
    for (int i = 0; i < rows.column_count(); ++i) {
      text += (i ? "|" : "") + std::string(rows.is_null(i) ? "NULL" : rows.text(i));
    }
  }
  return text;
}

std::string starts(Filled& file, std::string_view kind) {
  return all(file.profile.select(kind, {"start"}, "WHERE " + file.profile.filter(kind)));
}

// Names its rows by kind and start.
class Named : public TimedRows {
 public:
  Named(Profile& profile, std::string_view kind, std::size_t most_waiting)
      : TimedRows(profile, {.kind = kind,
                            .integers = gpuprof::columns::Ties::as_stored,
                            .most_waiting = most_waiting}) {}
  std::string name() const { return std::string(kind()) + " " + std::to_string(start()); }

 protected:
  std::vector<std::string_view> columns() override { return {"start", "end"}; }
};

// Whether another process meets a lock on bytes of a file.
bool is_locked(const std::string& path, off_t start, off_t length) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = start;
    lock.l_len = length;
    const int file = open(path.c_str(), O_RDONLY);
    _exit(fcntl(file, F_GETLK, &lock) != 0 ? 2 : lock.l_type == F_UNLCK ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) != 2);
  return WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a second look at an open file leaves the locks of the first", "[read]") {
  const std::string path = "gpuprof_locks_" + std::to_string(getpid()) + ".sqlite";
  const auto locks = [&] {
    return std::pair{is_locked(path, 0x40000002, 510), is_locked(path + "-shm", 128, 1)};
  };
  {
    Database writer(path, Database::Mode::create);
    writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE one(a); INSERT INTO one VALUES(1)");
    REQUIRE(locks() == std::pair{true, true});
    for (int i = 0; i < 2; ++i) {
      ProfileFile look(path);
      CHECK(look.format() == Format::other_database);
      CHECK(locks() == std::pair{true, true});
    }
    CHECK(locks() == std::pair{true, true});
  }
  CHECK(!std::filesystem::exists(path + "-wal"));
  CHECK(!is_locked(path, 0, 0));  // nothing is left open
  CHECK(ProfileFile(path).format() == Format::other_database);
  std::filesystem::remove(path);
}

TEST_CASE("what a file lacks reads as 0, or as no rows") {
  Filled file;
  Profile& profile = file.profile;
  CHECK(all(profile.select("KERNEL", {"start", "correlationId", "[end] - start"},
                           "WHERE name = 2 ORDER BY start")) == "40|0|20 70|0|0");
  CHECK(all(profile.select("MEMCPY", {"start", "[end]"})).empty());
  CHECK(profile.has("Kernel"));
  CHECK(profile.has_column("KERNEL", "DEVICEID"));
  CHECK_FALSE(profile.has_column("KERNEL", "streamId"));
  CHECK_FALSE(profile.has("DRIVER"));  // a view
  CHECK(profile.has_rows("MEMSET"));
  CHECK_FALSE(profile.has_rows("MEMCPY"));
}

TEST_CASE("a filter is for the tables that have its columns") {
  Filled devices({.devices = {1}});
  CHECK(starts(devices, "KERNEL") == "40");
  CHECK(starts(devices, "RUNTIME") == "5 50");
  Filled names({.kernels = "^axpy"});
  CHECK(starts(names, "KERNEL") == "10 0");
  CHECK(starts(names, "MEMSET").empty());
  CHECK(starts(names, "RUNTIME") == "5 50");
  CHECK_FALSE(names.profile.no_kernel_has_the_name());
  Filled nothing({.kernels = "conv"});
  CHECK(nothing.profile.no_kernel_has_the_name());
  // From the first record, which is at 5.
  Filled window({.from = {15}, .to = {40}});
  CHECK(starts(window, "KERNEL") == "40");
  CHECK(starts(window, "MEMSET") == "20 40");
  window.profile.device = 0;
  CHECK(starts(window, "MEMSET") == "40");
}

TEST_CASE("GPU work takes time, a call may be over at once") {
  Filled file;
  Profile& profile = file.profile;
  CHECK(all(profile.select("KERNEL", {"start"}, profile.timed("KERNEL"))) == "10 40");
  CHECK(all(profile.select("RUNTIME", {"start"}, profile.timed("RUNTIME"))) == "5");
}

TEST_CASE("rows of several tables come in the order of time") {
  Filled file;
  // Read as columns, and sorted by SQLite because rows would have to wait.
  for (const std::size_t most_waiting : {std::size_t{1} << 20, std::size_t{0}}) {
    gpuprof::Merge<Named> rows;
    for (const std::string_view kind : {"MEMSET", "KERNEL", "RUNTIME", "MEMCPY"}) {
      auto source = std::make_unique<Named>(file.profile, kind, most_waiting);
      CHECK(source->any() == (kind != "MEMCPY"));
      if (source->any()) rows.add(std::move(source));
    }
    for (const auto& source : rows.sources()) source->begin();
    std::string names;
    while (const Named* row = rows.next()) names += row->name() + ", ";
    CHECK(names == "RUNTIME 5, KERNEL 10, MEMSET 20, MEMSET 40, KERNEL 40, ");
    CHECK_FALSE(rows.next());
  }
}

TEST_CASE("functions are called as the file says, then as nvprof did") {
  Database database(":memory:", Database::Mode::create);
  database.execute(
      "CREATE TABLE API_NAME(domain TEXT, cbid INT, name TEXT); INSERT INTO API_NAME VALUES "
      "('runtime', 1, 'cudaNew_v2'), ('runtime', 34, 'cuda34'), ('driver', 99999, 'cuda99999')");
  ApiNames names(database);
  CHECK(names.find(ApiDomain::runtime, 1) == "cudaNew_v2");
  CHECK(names.find(ApiDomain::runtime, 34) == "cudaMemcpy2DToArray_v3020");
  CHECK(names.find(ApiDomain::driver, 99999) == "cuda99999");
  CHECK(names.find(ApiDomain::runtime, -1).empty());
  Names shown(database, NameStyle::modern);
  CHECK(shown.api(ApiDomain::runtime, 1) == "cudaNew");
  CHECK(shown.api(ApiDomain::runtime, -1) == "<runtime function -1>");
}

TEST_CASE("a process is called as people call it", "[read]") {
  CHECK(program_name("python3 train.py", "/usr/bin/python3.11") == "python3 train.py");
  CHECK(program_name("/usr/bin/python3 -u '/home/me/my train.py' --lr 1", "") ==
        "python3 my train.py");
  CHECK(program_name("python3 -m torch.distributed.run --nproc 8 x.py", "") ==
        "python3 -m torch.distributed.run");
  CHECK(program_name("python3 -c 'import torch'", "") == "python3 -c");
  CHECK(program_name("python3 -m", "") == "python3");
  CHECK(program_name("./shadow 4096", "/x/shadow") == "shadow");
  CHECK(program_name("", "/opt/bin/python3.11") == "python3.11");
  CHECK(program_name("", "").empty());
}

TEST_CASE("processes have names where the file knows them", "[read]") {
  Database database(":memory:", Database::Mode::create);
  database.execute(R"(
    CREATE TABLE PROCESS(processId INT, number INT, executable TEXT, command_line TEXT,
                         cupti_version INT);
    INSERT INTO PROCESS VALUES(7, 0, '/bin/sh', 'sh run.sh', NULL), (8, 1, '/x/gemm', NULL, 130000),
      (9, 2, '/x/first', NULL, 130000), (9, 3, '/x/then', NULL, NULL),
      (10, 4, NULL, 'a' || char(27) || '[2J', NULL);
  )");
  const Names names(database, NameStyle::modern);
  CHECK(names.process(7) == "sh run.sh [7]");
  CHECK(names.process(8) == "gemm [8]");
  CHECK(names.process(9) == "first [9]");
  CHECK(names.process(10) == "a\\x1b[2J [10]");
  CHECK(names.process(11) == "process 11");
}
