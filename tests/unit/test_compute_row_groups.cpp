// Accounts of times, which read only the groups of rows that they need, and sum blocks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/compute/account.hpp"
#include "libprof/compute/account_blocks.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/row_groups.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/scan.hpp"
#include "tests/unit/loaded.hpp"

using namespace gpuprof;
using store::Database;
using test::rows;

namespace {

constexpr int rows_per_table = 1500;
constexpr std::int64_t first_time = 1'000'000, last_time = first_time + rows_per_table * 20'000;

// Two processes and three devices, one of which has little work. Rows come nearly in the order of
// time; some are far from their place, some work runs long, and calls return long before their work
// begins, or soon. Some copies are waited for, and some work has no call or no times.
void fill_tables(Database& file) {
  std::mt19937 chance(34);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(chance() % static_cast<std::uint64_t>(limit));
  };
  auto kernel = file.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, \"end\", deviceId, contextId, "
      "streamId, correlationId, name, processId) VALUES(?1, ?2, ?3, 1, ?4, ?5, 1, ?6)");
  auto copy = file.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, \"end\", deviceId, contextId, streamId, "
      "correlationId, processId, copyKind, srcKind, dstKind, flags, graphId) "
      "VALUES(?1, ?2, ?3, 1, ?4, ?5, ?6, 2, 3, ?7, 0, 0)");
  std::vector<store::Statement> calls;
  for (const std::string domain : {"RUNTIME", "DRIVER"}) {
    calls.push_back(file.prepare(
        "INSERT INTO CUPTI_ACTIVITY_KIND_" + domain +
        "(start, \"end\", cbid, processId, threadId, correlationId) VALUES(?1, ?2, ?3, ?4, 9, "
        "?5)"));
  }
  for (int i = 0; i < rows_per_table; ++i) {
    const std::int64_t process = 7 + below(2), correlation = (process - 6) << 32 | (i + 1);
    std::int64_t time = first_time + i * 20'000 + below(60'000);
    if (below(400) == 0) time = first_time + below(last_time - first_time);
    const std::int64_t work = time + (below(3) == 0 ? below(3'000'000) : below(30'000));
    const std::int64_t length = below(100) == 0 ? below(2'000'000) : below(25'000);
    const std::int64_t device = i % 300 == 299 ? 2 : below(2);
    store::Statement& its = below(8) == 0 ? copy : kernel;
    its.bind(1, below(40) == 0 ? 0 : work).bind(2, work + length).bind(3, device);
    its.bind(4, below(3)).bind(5, below(30) == 0 ? 0 : correlation).bind(6, process);
    if (&its == &copy) its.bind(7, below(2));
    its.run();
    for (store::Statement& call : calls) {
      call.bind(1, time).bind(2, time + 2'000 + below(40'000)).bind(3, 200 + below(3));
      call.bind(4, process).bind(5, below(3) == 0 ? 0 : correlation).run();
    }
  }
}

std::string account_text(const compute::Accounts& accounts) {
  std::string text;
  for (const auto& [device, parts] : accounts.devices) {
    text += "device " + std::to_string(device) + ":";
    for (const compute::AccountPart& part : parts) {
      text += " " + std::string(part.what) + "/" + std::to_string(part.cause) + " " +
              std::to_string(part.duration) + " in " + std::to_string(part.intervals);
    }
  }
  return text;
}

std::size_t count_rows(const std::vector<columns::RowIds>& ranges) {
  std::size_t rows = 0;
  for (const columns::RowIds& range : ranges) {
    rows += static_cast<std::size_t>(range.last - range.first + 1);
  }
  return rows;
}

// A file with the tables, without anything computed.
void make_file(Database& file) {
  store::make_empty_profile(file, false);
  file.execute("INSERT INTO StringTable(_id_, value) VALUES(1, 'add'); BEGIN");
  fill_tables(file);
  file.execute("COMMIT");
}

// Up to the whole of the run, also beyond it.
std::vector<compute::TimeBounds> random_windows(int count) {
  std::mt19937 chance(33);
  std::vector<compute::TimeBounds> windows;
  for (int i = 0; i < count; ++i) {
    const std::int64_t from = first_time + chance() % (last_time - first_time),
                       length = 1 + chance() % (10'000LL << (i % 13));
    windows.push_back({from, from + length});
  }
  windows.push_back({last_time + 9'000'000, last_time + 9'000'001});
  windows.push_back({1, 2});
  windows.push_back({1, last_time + 9'000'000});
  return windows;
}

std::vector<std::string> texts(Database& file, std::span<const compute::TimeBounds> windows) {
  store::Snapshot snapshot(file);
  REQUIRE(snapshot.in_file());
  std::vector<std::string> all;
  for (const compute::TimeBounds& window : windows) {
    const auto accounts = compute::read_accounts(snapshot, window, [] {});
    for (const auto& [device, parts] : accounts.devices) {
      std::int64_t sum = 0;
      for (const compute::AccountPart& part : parts) sum += part.duration;
      CHECK(sum == accounts.window.length());
    }
    all.push_back(account_text(accounts));
  }
  // Several at once, near one another and far.
  const compute::TimeBounds several[]{{first_time + 1, first_time + 50'000},
                                      {first_time + 90'000, first_time + 99'000},
                                      {first_time + 99'000, last_time / 2},
                                      {last_time - 5'000'000, last_time - 1}};
  for (const auto& accounts : compute::read_accounts(snapshot, several, [] {})) {
    all.push_back(account_text(accounts));
  }
  return all;
}

// Only the first that differs, as there are hundreds.
void check_same(const std::vector<std::string>& found, const std::vector<std::string>& expected) {
  REQUIRE(found.size() == expected.size());
  const auto [its, other] = std::ranges::mismatch(found, expected);
  if (its != found.end()) CHECK(*its == *other);
}

compute::AccountBlocks stored_blocks(Database& file) {
  return compute::AccountBlocks::read(file, compute::StoredRowGroups::read(file));
}

}  // namespace

TEST_CASE("row groups: an account of any time is the same with them and without") {
  TemporaryFolder folder;
  Database file(folder / "file.sqlite", Database::Mode::create);
  make_file(file);
  REQUIRE(compute::compute(file, {}).empty());
  CHECK_FALSE(file.has_table("ROW_GROUP"));
  REQUIRE(compute::compute(file, {.row_groups = {.least_rows = 1, .ids_per_stretch = 16}}).empty());
  CHECK(rows(file, "SELECT count(*) > 0 FROM TABLE_DOC WHERE [table] = 'ROW_GROUP'") == "1");

  const auto windows = random_windows(60);
  const auto with = texts(file, windows);
  const auto groups = compute::StoredRowGroups::read(file);
  REQUIRE(groups);
  const auto needed = groups->needed({{last_time / 2, last_time / 2 + 10'000}});
  for (const char* table : {"CONCURRENT_KERNEL", "RUNTIME", "DRIVER"}) {
    const auto its = needed.of("CUPTI_ACTIVITY_KIND_" + std::string(table));
    REQUIRE(its);
    CHECK(count_rows(*its) > 0);
    CHECK(count_rows(*its) < rows_per_table / 2);
  }
  CHECK(needed.processes == std::vector<std::int64_t>{7, 8});

  file.execute("DELETE FROM ROW_GROUP WHERE name LIKE '%RUNTIME'");
  CHECK_FALSE(compute::StoredRowGroups::read(file));
  check_same(texts(file, windows), with);
  // Too few rows now.
  REQUIRE(compute::compute(file, {}).empty());
  CHECK(rows(file, "SELECT count(*) FROM ROW_GROUP") == "0");
}

TEST_CASE("account blocks: an account of any time is the same with them and without") {
  TemporaryFolder folder;
  Database file(folder / "file.sqlite", Database::Mode::create);
  make_file(file);
  auto windows = random_windows(130);
  windows.push_back({});
  windows.push_back({.from = first_time + 7'000'000});
  windows.push_back({.to = last_time - 7'000'000});
  REQUIRE(compute::compute(file, {}).empty());
  const auto without = texts(file, windows);
  const std::string run = rows(file, "SELECT * FROM DEVICE_ACCOUNT");
  CHECK_FALSE(file.has_table("ACCOUNT_BLOCK"));

  REQUIRE(compute::compute(
              file, {.row_groups = {.least_rows = 1, .ids_per_stretch = 16}, .works_per_block = 20})
              .empty());
  CHECK(rows(file, "SELECT * FROM DEVICE_ACCOUNT") == run);
  CHECK(rows(file,
             "SELECT deviceId, class, domain, cause, sum(duration), sum(intervals) "
             "FROM ACCOUNT_BLOCK GROUP BY 1, 2, 3, 4") == run);
  CHECK(rows(file,
             "SELECT min(blocks) > 20 FROM (SELECT count(DISTINCT start) AS blocks FROM "
             "ACCOUNT_BLOCK WHERE deviceId < 2 GROUP BY deviceId)") == "1");
  check_same(texts(file, windows), without);
  {
    // They are read, not only the rows.
    const auto blocks = stored_blocks(file);
    REQUIRE(blocks.devices() == std::vector<std::int64_t>{0, 1, 2});
    CHECK(blocks.run().length() > last_time - first_time);
    compute::AccountSum sum;
    std::int64_t rest = 0, known = 0;
    for (const TimeSpan& each :
         blocks.add(0, {first_time + 3'000'000, last_time - 3'000'000}, sum)) {
      rest += each.length();
    }
    for (const compute::AccountPart& part : sum.parts()) known += part.duration;
    CHECK(rest + known == last_time - first_time - 6'000'000);
    CHECK(known > 9 * rest);
  }
  // What does not hold together is not used.
  for (const char* lie : {
           "UPDATE ACCOUNT_BLOCK SET duration = duration + 1 WHERE deviceId = 1",
           "UPDATE ACCOUNT_BLOCK SET duration = -1 WHERE deviceId = 1",
           "UPDATE ACCOUNT_BLOCK SET class = 'other' WHERE deviceId = 1 AND class = 'no call'",
           "UPDATE ACCOUNT_BLOCK SET stop = stop + 1 WHERE deviceId = 1",
           "DELETE FROM ACCOUNT_BLOCK WHERE start = (SELECT max(start) FROM ACCOUNT_BLOCK)",
           "DELETE FROM ROW_GROUP WHERE name LIKE '%RUNTIME'",
       }) {
    file.execute("SAVEPOINT before");
    file.execute(lie);
    CHECK(stored_blocks(file).empty());
    file.execute("ROLLBACK TO before; RELEASE before");
  }
  CHECK_FALSE(stored_blocks(file).empty());
  file.execute("ALTER TABLE ACCOUNT_BLOCK DROP COLUMN intervals");
  check_same(texts(file, windows), without);
}
