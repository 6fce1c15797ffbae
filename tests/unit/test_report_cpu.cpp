// CPU sampling in reports.
#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "libprof/report/cpu_profile.hpp"
#include "libprof/report/report.hpp"

using gpuprof::report::CpuMode;
using gpuprof::report::CpuOptions;
using gpuprof::report::CpuProfile;
using gpuprof::report::Layout;
using gpuprof::report::NameStyle;
using gpuprof::report::ReportOptions;
using gpuprof::store::Database;

namespace {

constexpr auto tables = R"(
  CREATE TABLE profStringTable(id INTEGER PRIMARY KEY, value TEXT);
  CREATE TABLE collLibrary(id INT, name INT);
  CREATE TABLE collFunction(id INT, name INT, library INT, fp INT, sourcePos INT);
  CREATE TABLE collInstruction(id INT, function INT, offset INT, sourcePos INT);
  CREATE TABLE collSourcePos(id INT, fileName INT, lineNo INT);
  CREATE TABLE profCall(id INT, instruction INT);
  CREATE TABLE profGraph(id INT, branch INT, orientation INT, isOriginal INT, samplingPeriod REAL);
  CREATE TABLE collHit(call INT, time INT, tid INT);
  CREATE TABLE collFunctionCall(caller INT, callee INT);
  CREATE TABLE collRootCall(graph INT, callee INT);
  INSERT INTO profStringTable VALUES(1, 'main'), (2, '_Z4workPi'), (3, 'wait'), (4, 'app'),
                                    (5, 'app.c');
  INSERT INTO collLibrary VALUES(1, 4);
  -- main, work, wait; work at two addresses
  INSERT INTO collFunction VALUES(1, 1, 1, 0, 0), (2, 2, 1, 0, 0), (3, 3, 1, 0, 0);
  INSERT INTO collInstruction VALUES(1, 1, 16, 1), (2, 2, 32, 0), (3, 2, 48, 0), (4, 3, 64, 0);
  INSERT INTO collSourcePos VALUES(1, 5, 9);
)";

// main calls work at two places and wait; work calls itself once.
constexpr auto top_down = R"(
  INSERT INTO profGraph VALUES(1, 0, 1, 1, 2000);
  INSERT INTO profCall VALUES(1, 1), (2, 2), (3, 3), (4, 4), (5, 2);
  INSERT INTO collRootCall VALUES(1, 1);
  INSERT INTO collFunctionCall VALUES(1, 2), (1, 3), (1, 4), (3, 5);
  INSERT INTO collHit VALUES(2, 0, 7), (2, 0, 7), (3, 0, 8), (4, 0, 8), (5, 0, 7), (1, 0, 7);
)";
// The same samples, with the innermost function at the root.
constexpr auto bottom_up = R"(
  INSERT INTO profGraph VALUES(1, 0, 2, 1, 2000);
  INSERT INTO profCall VALUES(1, 1), (2, 2), (3, 1), (4, 3), (5, 1), (6, 4), (7, 1), (8, 2),
                             (9, 3), (10, 1);
  INSERT INTO collRootCall VALUES(1, 1), (1, 2), (1, 4), (1, 6), (1, 8);
  INSERT INTO collFunctionCall VALUES(2, 3), (4, 5), (6, 7), (8, 9), (9, 10);
  INSERT INTO collHit VALUES(3, 0, 7), (3, 0, 7), (5, 0, 8), (7, 0, 8), (10, 0, 7), (1, 0, 7);
)";

Database memory(const std::string& sql) {
  Database database(":memory:", Database::Mode::create);
  database.execute(sql);
  return database;
}

// What follows the summary.
std::string cpu(Database& database, CpuOptions cpu, Layout layout = Layout::text) {
  std::ostringstream out;
  ReportOptions options;
  options.chosen = {"print-api-summary"};
  options.layout = layout;
  options.names = NameStyle::modern;
  options.cpu = cpu;
  gpuprof::report::print_reports(database, out, options);
  const std::string text = out.str();
  if (layout == Layout::json) return text;
  const auto begin = text.find("\n\n");
  return begin == std::string::npos ? "" : text.substr(begin + 2);
}

}  // namespace

TEST_CASE("both ways to store a graph give the same three trees") {
  const bool inverted = GENERATE(false, true);
  Database database = memory(std::string(tables) + (inverted ? bottom_up : top_down));
  CHECK(cpu(database, {.mode = CpuMode::top_down}) ==
        R"(======== CPU profiling result (top down):
Time(%)      Time  Name
 100.00%      12ms  main
 66.67%       8ms    work(int*)
 16.67%       2ms    | work(int*)
 16.67%       2ms    wait

======== Data collected at 100Hz frequency
)");
  CHECK(cpu(database, {.mode = CpuMode::bottom_up}) ==
        R"(======== CPU profiling result (bottom up):
Time(%)      Time  Name
 66.67%       8ms  work(int*)
 50.00%       6ms  | main
 16.67%       2ms  | work(int*)
 16.67%       2ms  |   main
 16.67%       2ms  main
 16.67%       2ms  wait
 16.67%       2ms    main

======== Data collected at 100Hz frequency
)");
  CHECK(cpu(database, {.mode = CpuMode::flat, .frequency = 500}) ==
        R"(======== CPU profiling result (flat):
Time(%)      Time  Name
 66.67%       8ms  work(int*)
 16.67%       2ms  main
 16.67%       2ms  wait

======== Data collected at 500Hz frequency
)");
}

TEST_CASE("a tree can be cut by depth and percentage; lines lead to what is left out") {
  Database database = memory(std::string(tables) + top_down);
  CHECK(cpu(database, {.max_depth = 1, .threshold = 17}) ==
        R"(======== CPU profiling result (bottom up):
Time(%)      Time  Name
 66.67%       8ms  work(int*)

======== Data collected at 100Hz frequency
======== Max stack depth: 1
======== Percentage threshold: 17%
)");
  CHECK(cpu(database, {.mode = CpuMode::bottom_up, .threshold = 50}).find("  | main\n") !=
        std::string::npos);
}

TEST_CASE("threads apart: the one with most samples is all of the time") {
  Database database = memory(std::string(tables) + top_down);
  CHECK(cpu(database, {.mode = CpuMode::flat, .by_thread = true}) ==
        R"(======== CPU profiling result (flat):
Time(%)      Time  Name
======== Thread 7
 75.00%       6ms  work(int*)
 25.00%       2ms  main
======== Thread 8
 25.00%       2ms  wait
 25.00%       2ms  work(int*)

======== Data collected at 100Hz frequency
)");
}

TEST_CASE("addresses, libraries and messages of the compiler") {
  Database database = memory(std::string(tables) + top_down + R"(
    INSERT INTO profStringTable VALUES(6, 'Loop not vectorized');
    CREATE TABLE collCCFFMessage(id INT, text INT, type INT);
    CREATE TABLE collSourcePosCCFFMessage(sourcePos INT, message INT);
    INSERT INTO collCCFFMessage VALUES(1, 6, 0);
    INSERT INTO collSourcePosCCFFMessage VALUES(1, 1);
  )");
  CHECK(cpu(database, {.mode = CpuMode::top_down, .show_library = true, .show_ccff = true}) ==
        R"(======== CPU profiling result (top down):
Time(%)      Time  Name
 100.00%      12ms  main app (app.c:9 0x10)
                     Loop not vectorized
 33.33%       4ms    work(int*) app (0x20)
 33.33%       4ms    work(int*) app (0x30)
 16.67%       2ms    | work(int*) app (0x20)
 16.67%       2ms    wait app (0x40)

======== Data collected at 100Hz frequency
)");
  const std::string json =
      cpu(database, {.mode = CpuMode::flat, .by_instruction = true}, Layout::json);
  CHECK(json.find(R"({"depth":0,"time_percent":16.666667,"time_ns":2000000,"samples":1,)"
                  R"("function":"main","library":"app","file":"app.c","line":9,"offset":16})") !=
        std::string::npos);
}

TEST_CASE("times have six digits") {
  Database database = memory(std::string(tables) + R"(
    INSERT INTO profGraph VALUES(1, 0, 1, 1, 10003.5);
    INSERT INTO profCall VALUES(1, 1), (2, 2), (3, 4);
    INSERT INTO collHit VALUES(3, 0, 1);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6251)
    INSERT INTO collHit SELECT 1, 0, 1 FROM n;
    INSERT INTO collHit SELECT 2, 0, 1 FROM collHit LIMIT 15;
  )");
  CHECK(cpu(database, {.mode = CpuMode::flat}).find(R"(
 99.74%  62.5319s  main
  0.24%  150.053ms  work(int*)
  0.02%  10.0035ms  wait
)") != std::string::npos);
}

TEST_CASE("a ring of callers, calls that are not stored, tables that are missing") {
  Database database = memory(R"(
    CREATE TABLE collLibrary(id INT, name INT);
    CREATE TABLE profCall(id INT, instruction INT);
    CREATE TABLE collHit(call INT, tid INT);
    CREATE TABLE collFunctionCall(caller INT, callee INT);
    INSERT INTO profCall VALUES(0, 5), (1, 5);
    INSERT INTO collFunctionCall VALUES(0, 1), (1, 0), (7, 0);
    INSERT INTO collHit VALUES(1, 1), (99, 1);
  )");
  std::size_t longest = 0, stacks = 0;
  CpuProfile(database).each_stack([&](const CpuProfile::Stack& stack) {
    longest = std::max(longest, stack.instructions.size());
    ++stacks;
  });
  CHECK(stacks == 2);
  CHECK(longest == 4096);
  CHECK(cpu(database, {.mode = CpuMode::flat}) == R"(======== CPU profiling result (flat):
Time(%)      Time  Name
 100.00%      20ms  ???

======== Data collected at 100Hz frequency
)");
}

TEST_CASE("a view instead of the table of libraries is no CPU sampling") {
  Database database = memory("CREATE VIEW collLibrary AS SELECT 1 AS id, 2 AS name WHERE 0");
  CHECK(cpu(database, {}).empty());
}
