// --print-sass-metrics: functions and lines, those of nvprof's files too.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/report/report.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/printed.hpp"

using namespace gpuprof;
using namespace gpuprof::report;
using gpuprof::test::has;

namespace {

store::Database empty() {
  store::Database file = test::empty_tables();
  return file;
}

// Function 7 is slow(): lines 2 and 3, a line of an unknown file, and an address. 8 is fast().
store::Database counted(const std::string& more = {}) {
  store::Database file = empty();
  file.execute(
      "INSERT INTO StringTable(_id_, value, demangled) VALUES(1, '_Z4slowv', 'slow()'), "
      "(2, '_Z4fastv', 'fast()'), (3, '/src/a.cu', NULL);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_FUNCTION(id, name, processId) VALUES(7, 1, 1), (8, 2, 1), "
      "(7, 2, 2);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR(id, fileName, lineNumber) VALUES(1, 3, 2), "
      "(2, 3, 3), (3, 0, 9);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION(functionId, processId, pcOffset, "
      "sourceLocatorId, executed, threadsExecuted, notPredOffThreadsExecuted, correlationId) VALUES"
      "(7, 1, 0, 1, 10, 160, 150, 0), (7, 1, 16, 1, 30, 960, 960, 0), (7, 1, 32, 2, 20, 640, 640, "
      "0), (7, 1, 48, 3, 15, 480, 480, 0), (7, 1, 80, 0, 5, 160, 160, 0), (8, 1, 0, 0, 15, 480, "
      "480, 0), (7, 2, 0, 0, 5, 160, 160, 0);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_BRANCH(functionId, processId, pcOffset, sourceLocatorId, "
      "executed, threadsExecuted, diverged, correlationId) VALUES"
      "(7, 1, 32, 2, 20, 640, 5, 0), (7, 1, 48, 3, 15, 480, 0, 0);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS(functionId, processId, pcOffset, "
      "sourceLocatorId, executed, threadsExecuted, l2_transactions, theoreticalL2Transactions, "
      "correlationId) VALUES(7, 1, 16, 1, 30, 960, 960, 120, 0), (8, 1, 0, 0, 15, 480, 60, 60, 0), "
      "(7, 1, 80, 0, 5, 160, 160, 0, 0);" +
      more);
  return file;
}

std::string printed(store::Database& file, ReportOptions options = {}) {
  options.chosen.insert("print-sass-metrics");
  return test::printed(file, options);
}

}  // namespace

TEST_CASE("SASS metrics are printed by function and line, what was executed most first") {
  store::Database file = counted();
  const std::string text = printed(file);
  CHECK(has(text,
            "slow()\n  80 instructions executed by warps, 80.00% of all, with 30.00 threads on "
            "average\n"
            "    Executed%      Executed       Threads  Instructions\n"
            "       50.00%            40         28.00  /src/a.cu:2\n"
            "       25.00%            20         32.00  /src/a.cu:3\n"
            "       18.75%            15         32.00  line 9\n"
            "        6.25%             5         32.00  +0x50\n"));
  // Lines at which nothing is wrong, or for which the best is not known, are not there.
  CHECK(has(text,
            "    Diverged%      Diverged      Branches  Branches at which threads went different "
            "ways\n"
            "       25.00%             5            20  /src/a.cu:3\n"
            "  Times ideal       Sectors         Ideal  Accesses to global memory that are not "
            "coalesced\n"
            "         8.00           960           120  /src/a.cu:2\n\n"));
  CHECK_FALSE(has(text, "bank conflicts"));
  // The same function name of two processes is one.
  CHECK(has(text, "fast()\n  20 instructions executed by warps, 20.00% of all"));
}

TEST_CASE("bank conflicts are lines where more wavefronts were taken than at best") {
  store::Database file = counted(
      "INSERT INTO CUPTI_ACTIVITY_KIND_SHARED_ACCESS(functionId, processId, pcOffset, "
      "sourceLocatorId, executed, threadsExecuted, sharedTransactions, "
      "theoreticalSharedTransactions, correlationId) VALUES(7, 1, 16, 1, 30, 960, 60, 30, 0), "
      "(7, 1, 32, 2, 20, 640, 640, 20, 0), (7, 1, 48, 3, 15, 480, 15, 15, 0)");
  CHECK(has(printed(file),
            "  Times ideal    Wavefronts         Ideal  Accesses to shared memory with bank "
            "conflicts\n"
            "        32.00           640            20  /src/a.cu:3\n"
            "         2.00            60            30  /src/a.cu:2\n\n"));
}

TEST_CASE("the JSON of SASS metrics has a table for each section that has rows") {
  store::Database file = counted();
  const auto document = nlohmann::json::parse(printed(file, {.layout = Layout::json}));
  const auto& tables = document["tables"];
  REQUIRE(tables.size() == 3);
  CHECK(tables[0]["table"] == "sass_instructions");
  CHECK(tables[0]["rows"].size() == 5);
  const auto& first = tables[0]["rows"][0];
  CHECK(first["function"] == "slow()");
  CHECK(first["file"] == "/src/a.cu");
  CHECK(first["line"] == 2);
  CHECK(first["pc_offset_bytes"].is_null());
  CHECK(first["executed_percent"] == Approx(40));
  CHECK(first["executed"] == 40);
  CHECK(first["threads"] == 1120);
  CHECK(first["threads_predicate_true"] == 1110);
  CHECK(first["threads_per_execution"] == Approx(28));
  CHECK(tables[0]["rows"][2]["file"].is_null());
  CHECK(tables[0]["rows"][2]["line"] == 9);
  CHECK(tables[0]["rows"][3]["pc_offset_bytes"] == 80);
  CHECK(tables[1]["table"] == "sass_branches");
  CHECK(tables[1]["rows"].size() == 2);
  CHECK(tables[1]["rows"][0]["diverged"] == 5);
  CHECK(tables[1]["rows"][0]["branches"] == 20);
  CHECK(tables[2]["table"] == "sass_global_accesses");
  CHECK(tables[2]["rows"].size() == 3);
  CHECK(tables[2]["rows"][0]["times_ideal"] == Approx(8));
  CHECK(tables[2]["rows"][1]["sectors_ideal"].is_null());
  CHECK(tables[2]["rows"][1]["times_ideal"].is_null());
}

TEST_CASE("SASS metrics as CSV, for programs too") {
  store::Database file = counted();
  const std::string csv = printed(file, {.layout = Layout::csv});
  CHECK(has(csv, "\"Function\",\"File\",\"Line\",\"PC\",\"Branches\",\"Diverged\"\n"));
  CHECK(has(csv, "\"slow()\",\"/src/a.cu\",3,,20,5\n"));
  CHECK(has(printed(file, {.layout = Layout::plain_csv}), "\"sass_branches\",\"slow()\""));
}

TEST_CASE("functions of SASS metrics are chosen by --top and --kernels") {
  store::Database file = counted();
  const std::string one = printed(file, {.top = 1});
  CHECK(has(one, "and 1 more function (--top N)"));
  CHECK(has(one, "and 3 more places (--top N)"));
  CHECK_FALSE(has(one, "fast()"));
  const std::string chosen = printed(file, {.filter = {.kernels = "fast"}});
  CHECK(has(chosen, "20 instructions executed by warps, 100.00% of all"));
  CHECK_FALSE(has(chosen, "slow()"));
}

TEST_CASE("what SASS metrics do not have is said where it was asked for") {
  store::Database file = counted();
  CHECK(has(printed(file, {.filter = {.devices = {0}}}), "sums of all devices"));
  CHECK_FALSE(has(printed(file), "Warning"));
}

TEST_CASE("SASS metrics with numbers that cannot be are skipped or bounded") {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  store::Database file = counted(
      "INSERT INTO CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION(functionId, processId, executed, "
      "threadsExecuted, notPredOffThreadsExecuted, correlationId) VALUES(99, 1, " +
      most + ", " + most + ", 1, 0), (99, 1, " + most + ", 0, 1, 0), (7, 1, -1, 0, 0, 0)");
  const std::string text = printed(file);
  CHECK(has(text, "<kernel name 0>\n  " + most + " instructions"));
  CHECK(has(text, "slow()\n  80 instructions"));
  CHECK(has(text, "1 record skipped"));
}

TEST_CASE("a profile says whether it has SASS metrics") {
  store::Database none = empty();
  CHECK(has(printed(none), "No SASS metrics are in the profile"));
  CHECK_FALSE(has(test::printed(none), "print-sass-metrics"));
  // nvprof's tables alone are nvprof's file, and its report is nvprof's.
  store::Database nvprofs = counted();
  CHECK_FALSE(has(test::printed(nvprofs), "print-sass-metrics"));
  store::Database ours = counted(
      "INSERT INTO SASS_VALUE(instructionId, metricId, correlationId, value) VALUES(1, 1, 0, 1)");
  CHECK(has(test::printed(ours), "SASS metrics by source line: --print-sass-metrics\n"));
}

TEST_CASE("source text stands below lines of SASS metrics") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "src");
  std::ofstream(folder / "src/a.cu") << "first\n\tx = y[i];  // \x1b[31m\r\nthird";
  store::Database file = counted();
  CHECK_FALSE(has(printed(file), "x = y[i]"));
  const ReportOptions options{.source = true, .source_root = folder / "src"};
  CHECK(has(printed(file, options),
            "/src/a.cu:2\n" + std::string(43, ' ') + "| x = y[i];  // \\x1b[31m\n"));
}
