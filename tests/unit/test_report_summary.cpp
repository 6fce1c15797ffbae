#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>

#include "libprof/names/demangle.hpp"
#include "libprof/read/names.hpp"
#include "libprof/report/report.hpp"

using gpuprof::report::ApiDomain;
using gpuprof::report::Names;
using gpuprof::report::NameStyle;
using gpuprof::report::ReportOptions;
using gpuprof::store::Database;

namespace {

constexpr auto kernels = R"(
  CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringTable VALUES(1, 'axpy'), (2, '_Z3fooIfEvPT_');
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, name INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start INT, end INT, name INT);
)";
constexpr auto runtime = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(cbid INT, start INT, end INT);
)";

Database memory(const std::string& sql) {
  Database database(":memory:", Database::Mode::create);
  database.execute(sql);
  return database;
}

std::string summary(Database& database, ReportOptions options = {}) {
  std::ostringstream out;
  options.names = NameStyle::modern;
  gpuprof::report::print_reports(database, out, options);
  return out.str();
}

}  // namespace

TEST_CASE("a database without any table has an empty summary") {
  Database database = memory("");
  CHECK(summary(database) == R"(======== Profiling result:
No kernels were profiled.
No API activities were profiled.
)");
  CHECK(summary(database, {.chosen = {"print-api-summary"}, .prefix = "==42== "}) ==
        "==42== Profiling result:\nNo API activities were profiled.\n");
}

TEST_CASE("both kernel tables, copies and sets are summed up by name") {
  Database database = memory(std::string(kernels) + R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 40, 1);
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
      VALUES(50, 60, 1), (70, 71, 2), (80, 82, 0), (90, 93, 77);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(copyKind INT, start INT, end INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1, 1, 11), (10, 1, 8), (0, 1, 5), (99, 1, 6);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2(copyKind INT, start INT, end INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES(8, 1, 14);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INT, end INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(5, 10), (11, 17);
  )");
  CHECK(summary(database, {.chosen = {"print-gpu-summary"}}) == R"(======== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   41.67%      40ns         2      20ns      10ns      30ns  axpy
                   13.54%      13ns         1      13ns      13ns      13ns  [CUDA memcpy DtoD]
                   11.46%      11ns         2       5ns       5ns       6ns  [CUDA memset]
                   10.42%      10ns         1      10ns      10ns      10ns  [CUDA memcpy HtoD]
                    9.38%       9ns         2       4ns       4ns       5ns  [CUDA memcpy Unknown]
                    7.29%       7ns         1       7ns       7ns       7ns  [CUDA memcpy PtoP]
                    3.12%       3ns         1       3ns       3ns       3ns  <kernel name 77>
                    2.08%       2ns         1       2ns       2ns       2ns  <kernel name 0>
                    1.04%       1ns         1       1ns       1ns       1ns  void foo<float>(float*)
======== Warning: 1 name is not in StringTable.
)");
}

TEST_CASE("a graph counts once: as a whole only where its nodes were not recorded") {
  const std::string nodes = R"(
    CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringTable VALUES(1, 'axpy');
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INT, end INT, deviceId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(10, 40, 0), (50, 60, 0);
    CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start INT, end INT, name INT, deviceId INT,
                                                       graphNodeId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(12, 32, 1, 0, )";
  for (const char* report : {"print-gpu-summary", "print-gpu-trace"}) {
    INFO(report);
    Database of_nodes = memory(nodes + "77);");
    const std::string once = summary(of_nodes, {.chosen = {report}});
    CHECK_THAT(once, Catch::Contains("axpy") && !Catch::Contains("[CUDA graph]"));
    // A kernel that is in no graph.
    Database of_wholes = memory(nodes + "0);");
    const std::string wholes = summary(of_wholes, {.chosen = {report}});
    CHECK_THAT(wholes, Catch::Contains("axpy") && Catch::Contains("[CUDA graph]"));
  }
  Database of_nodes = memory(nodes + "77);");
  CHECK_THAT(summary(of_nodes, {.chosen = {"print-gpu-summary"}}),
             Catch::Contains("100.00%      20ns         1      20ns      20ns      20ns  axpy\n"));
}

TEST_CASE("graphs as a whole and decompression are GPU work") {
  Database database = memory(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INT, end INT, deviceId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(10, 40, 0), (50, 60, 0), (0, 0, 0);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS(start INT, stop INT, deviceId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS VALUES(70, 80, 0);
  )");
  const std::string text = summary(database, {.chosen = {"print-gpu-summary"}});
  CHECK_THAT(text, Catch::Contains("80.00%      40ns         2      20ns      10ns      30ns  "
                                   "[CUDA graph]\n"));
  CHECK_THAT(text, Catch::Contains("20.00%      10ns         1      10ns      10ns      10ns  "
                                   "[CUDA memory decompression]\n"));
  const std::string trace = summary(database, {.chosen = {"print-gpu-trace"}});
  CHECK_THAT(trace,
             Catch::Contains("[CUDA graph]") && Catch::Contains("[CUDA memory decompression]"));
  const ReportOptions none{.chosen = {"print-gpu-summary"}, .filter = {.kernels = "axpy"}};
  CHECK_THAT(summary(database, none), !Catch::Contains("[CUDA graph]"));
}

TEST_CASE("rows whose times are unusable are counted in a warning") {
  Database database = memory(std::string(kernels) + runtime + R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
      VALUES(0, 0, 1), (0, 0, 1), (10, 10, 1), (20, 10, 1), (0, 5, 1);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
      VALUES(20, 100, 100), (20, 100, 104), (20, 100, 99), (20, 0, 0);
  )");
  const std::string timestamps =
      "======== Warning: 3 records have invalid timestamps due to insufficient semaphore pool "
      "size. You can configure the pool size using the option "
      "--profiling-semaphore-pool-size.\n";
  const std::string invalid =
      "======== Warning: Found 4 invalid records in the result.\n"
      "======== Warning: This can happen if device ran out of memory or if a device kernel was "
      "stopped due to an assertion.\n";
  const std::string instant =
      "======== Warning: 1 API trace records have same start and end timestamps.\n"
      "This can happen because of short execution duration of CUDA APIs and low timer resolution "
      "on the underlying operating system.\n";
  CHECK(summary(database) == timestamps + invalid + instant + R"(======== Profiling result:
No kernels were profiled.
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
      API calls:  100.00%       4ns         2       2ns       0ns       4ns  cudaMalloc
)");
}

TEST_CASE("calls that take no time at all are 0 %") {
  Database database = memory(std::string(runtime) + R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(20, 100, 100);
  )");
  CHECK_THAT(summary(database), Catch::Contains("      API calls:    0.00%       0ns         1"));
}

TEST_CASE("losses follow the tables") {
  Database database = memory(R"(
    CREATE TABLE STATISTIC(name TEXT);
    CREATE TABLE STATISTIC_DOC(name TEXT);
    CREATE VIEW losses AS
      SELECT 42 AS process_id, 'KERNEL' AS kind, 'dropped' AS name, 7 AS value,
             'data loss' AS severity, 'no buffer was free' AS help
      UNION ALL SELECT NULL, NULL, 'salvaged', 3, 'notice', NULL;
  )");
  CHECK_THAT(summary(database), Catch::EndsWith(R"(
No API activities were profiled.
======== Warning: 7 dropped (KERNEL, process 42): no buffer was free
======== Warning: 3 salvaged
)"));
}

TEST_CASE("something else that is called losses is left alone") {
  Database database = memory("CREATE TABLE losses(id INT); INSERT INTO losses VALUES(1)");
  CHECK_THAT(summary(database), !Catch::Contains("Warning"));
}

TEST_CASE("kernel names come from StringTable") {
  SECTION("of nvprof") {
    Database database = memory(kernels);
    Names names(database, NameStyle::modern);
    CHECK(names.kernel(1) == "axpy");
    CHECK(names.kernel(2) == "void foo<float>(float*)");
    CHECK(names.kernel(0) == "<kernel name 0>");
    CHECK(names.kernel(9) == "<kernel name 9>");
  }
  SECTION("of gpuprof") {
    Database database = memory(R"(
      CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT, demangled TEXT, short TEXT);
      INSERT INTO StringTable
        VALUES(1, '_Z3foov', 'foo(void)', 'foo'), (2, '_Z3foov', NULL, NULL);
    )");
    Names names(database, NameStyle::modern);
    CHECK(names.kernel(1) == "foo(void)");
    CHECK(names.kernel(2) == "foo()");
  }
}

TEST_CASE("statistics add median, deviation and percentiles of all calls") {
  Database database = memory(std::string(kernels) + R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 12, 1), (20, 24, 1);
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(30, 34, 1), (40, 50, 1), (60, 67, 2);
  )");
  CHECK(summary(database, {.chosen = {"print-gpu-summary"}, .statistics = true}) ==
        R"(======== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max    Median    StdDev       P90       P99  Name
 GPU activities:   74.07%      20ns         4       5ns       2ns      10ns       4ns       3ns      10ns      10ns  axpy
                   25.93%       7ns         1       7ns       7ns       7ns       7ns       0ns       7ns       7ns  void foo<float>(float*)
)");
}

TEST_CASE("names are nvprof's where it has one; what it leaves mangled is readable in our files") {
  const std::string rows = R"(
    INSERT INTO StringTable(_id_, value) VALUES(1, '_Z3fooIfEvPT_'), (2, '_Z1fDn');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, name INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1, 3, 1), (1, 2, 2);
  )";
  Database foreign =
      memory("CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);" + rows);
  Database ours =
      memory("CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT, demangled TEXT);" +
             rows + "UPDATE StringTable SET demangled = 'stored ' || _id_");
  const auto names = [](Database& database, NameStyle style) {
    Names of_file(database, style);
    return of_file.kernel(1) + ", " + of_file.kernel(2);
  };
  CHECK(names(foreign, NameStyle::compatible) == "void foo<float>(float*), _Z1fDn");
  CHECK(names(ours, NameStyle::compatible) == "void foo<float>(float*), stored 2");
  CHECK(names(ours, NameStyle::nvprof) == "void foo<float>(float*), _Z1fDn");
  CHECK(names(ours, NameStyle::modern) == "stored 1, stored 2");
  CHECK(names(foreign, NameStyle::modern) == "void foo<float>(float*), f(decltype(nullptr))");
  CHECK(names(ours, NameStyle::mangled) == "_Z3fooIfEvPT_, _Z1fDn");
}

TEST_CASE("a cut summary sums up the rows behind the first") {
  Database database = memory(std::string(kernels) + R"(
    INSERT INTO StringTable VALUES(3, 'third');
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 30, 1), (10, 16, 2), (20, 21, 3), (30, 34, 3);
  )");
  CHECK(summary(database, {.chosen = {"print-gpu-summary"}, .top = 1}) ==
        R"(======== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   64.52%      20ns         1      20ns      20ns      20ns  axpy
                   35.48%      11ns         3       3ns       1ns       6ns  (2 more)
)");
}

TEST_CASE("names that only look mangled stay as they are") {
  CHECK(gpuprof::demangled("f") == "f");
  CHECK(gpuprof::demangled("_ZBAD") == "_ZBAD");
}

TEST_CASE("API names come from API_NAME, then from the list of CUDA 11.8") {
  Database database = memory(R"(
    CREATE TABLE API_NAME(domain TEXT, cbid INT, name TEXT);
    INSERT INTO API_NAME
      VALUES('runtime', 999, 'cudaNew_ptsz_v13000'), ('driver', 999, 'cuNew_v2');
  )");
  Names names(database, NameStyle::modern);
  CHECK(names.api(ApiDomain::runtime, 999) == "cudaNew");
  CHECK(names.api(ApiDomain::driver, 999) == "cuNew");
  CHECK(names.api(ApiDomain::runtime, 211) == "cudaLaunchKernel");
  CHECK(names.api(ApiDomain::driver, 307) == "cuLaunchKernel");
  CHECK(names.api(ApiDomain::runtime, 0) == "INVALID");
  CHECK(names.api(ApiDomain::runtime, 433) != "<runtime function 433>");
  CHECK(names.api(ApiDomain::runtime, 434) == "<runtime function 434>");
  CHECK(names.api(ApiDomain::driver, 677) == "<driver function 677>");
  CHECK(names.api(ApiDomain::driver, -1) == "<driver function -1>");
}

TEST_CASE("a summary leaves the database to the writer") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("gpuprof_report_" + std::to_string(::getpid()) + ".sqlite");
  std::filesystem::remove(path);
  {
    Database writer(path.string(), Database::Mode::create);
    writer.execute(runtime);
    Database reader(path.string(), Database::Mode::read_only);
    summary(reader);
    writer.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(20, 1, 5)");
    CHECK_THAT(summary(reader), Catch::Contains("cudaMalloc"));
    // During an open write transaction: the rows before it.
    writer.execute("BEGIN IMMEDIATE");
    writer.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME");
    CHECK_THAT(summary(reader), Catch::Contains("cudaMalloc"));
    writer.execute("COMMIT");
    // Inside a transaction of the caller's own.
    reader.execute("BEGIN");
    CHECK_THAT(summary(reader), Catch::Contains("No API activities"));
    reader.execute("COMMIT");
  }
  std::filesystem::remove(path);
}
