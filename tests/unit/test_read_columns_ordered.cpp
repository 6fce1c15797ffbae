// Rows in the order of time against SQLite's ORDER BY.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/read/columns/ordered_rows.hpp"

using namespace gpuprof;
using columns::OrderedRows;
using store::Database;

namespace {

const std::string runtime = "CUPTI_ACTIVITY_KIND_RUNTIME";

struct Row {
  std::string start, end, correlation;  // as SQL has them
};

class File {
 public:
  explicit File(const std::vector<Row>& rows)
      : database_(folder_ / "run.sqlite", Database::Mode::create) {
    database_.execute("CREATE TABLE " + runtime +
                      "(_id_ INTEGER PRIMARY KEY, start INT, [end] INT, correlationId INT)");
    database_.execute("BEGIN");
    for (const Row& row : rows) {
      database_.execute("INSERT INTO " + runtime + "(start, [end], correlationId) VALUES(" +
                        row.start + "," + row.end + "," + row.correlation + ")");
    }
    database_.execute("COMMIT");
  }

  std::vector<std::vector<std::int64_t>> by_sql(columns::Ties ties) {
    auto rows =
        database_.prepare("SELECT start, [end], correlationId, correlationId IS NULL FROM " +
                          runtime + " WHERE start > 0 AND [end] >= start ORDER BY start, " +
                          (ties == columns::Ties::outer_first ? "[end] DESC, _id_" : "_id_"));
    std::vector<std::vector<std::int64_t>> all;
    while (rows.step()) {
      all.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.integer(3)});
    }
    return all;
  }

  std::vector<std::vector<std::int64_t>> in_order(columns::Ties ties, std::size_t& bytes,
                                                  std::size_t& looked_at) {
    store::Snapshot snapshot(database_, {.threads = 1});
    OrderedRows rows(snapshot, {.table = runtime, .columns = {"start", "end", "correlationId"}},
                     ties, {"start", "end", "correlationId"},
                     [&](const columns::Chunk& chunk) { looked_at += chunk.rows(); });
    bytes = rows.bytes();
    std::vector<std::vector<std::int64_t>> all;
    while (rows.next()) all.push_back({rows[0], rows[1], rows[2], rows.is_null(2)});
    CHECK_FALSE(rows.next());
    return all;
  }

 private:
  TemporaryFolder folder_;
  Database database_;
};

// `least_bytes`: what waiting rows are said to take at least.
void check(const std::vector<Row>& rows, std::size_t least_bytes = 0) {
  File file(rows);
  for (const auto ties : {columns::Ties::outer_first, columns::Ties::as_stored}) {
    std::size_t bytes = 0, looked_at = 0;
    const auto found = file.in_order(ties, bytes, looked_at), wanted = file.by_sql(ties);
    CHECK(looked_at == rows.size());
    CHECK(bytes >= least_bytes);
    REQUIRE(found.size() == wanted.size());
    CHECK(found == wanted);
  }
}

}  // namespace

TEST_CASE("rows in the order of time are as SQLite sorts them") {
  std::mt19937 random(7);
  const auto number = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  const auto rows = [&](int count, int disorder, int step) {
    std::vector<Row> all;
    for (int i = 0; i < count; ++i) {
      const std::int64_t start = 1'000'000 + std::int64_t{i} * step - number(disorder);
      const std::int64_t end = start + number(3) * 50;
      all.push_back({std::to_string(start), std::to_string(end), std::to_string(i)});
    }
    return all;
  };
  SECTION("nearly in order") { check(rows(30'000, 500, 3)); }
  SECTION("many at the same time") { check(rows(20'000, 40, 0)); }
  SECTION("far out of order") { check(rows(30'000, 900'000, 30), 15'000 * 8 * 3); }
  SECTION("few") { check(rows(3, 10, 1)); }
  SECTION("none") { check({}); }
  SECTION("the last one first") {
    auto all = rows(20'000, 0, 5);
    std::ranges::reverse(all);
    check(all, 20'000 * 8 * 3);
  }
  SECTION("without times, or without a number") {
    auto all = rows(15'000, 300, 2);
    for (std::size_t i = 0; i < all.size(); i += 7) all[i].start = "0";
    for (std::size_t i = 0; i < all.size(); i += 11) all[i].end = "5";
    for (std::size_t i = 0; i < all.size(); i += 13) all[i].correlation = "NULL";
    for (std::size_t i = 0; i < all.size(); i += 101) all[i].start = "NULL";
    for (std::size_t i = 0; i < all.size(); i += 103) all[i].end = "-1";
    check(all);
  }
  SECTION("a long one at the begin") {
    auto all = rows(12'000, 0, 2);
    all.push_back({"1", "99999999", "-1"});  // recorded when it ended
    check(all, 12'000 * 8 * 3);
  }
}
