#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "libprof/report/report.hpp"
#include "schema/database.hpp"
#include "schema/derived.hpp"
#include "schema/nvtx.hpp"

using gpuprof::report::Layout;
using gpuprof::report::ReportOptions;
using gpuprof::store::Database;

namespace {

// Names: 1 outer, 2 inner, 3 again, 4 domain, 5 '', 6 axpy, 7 inner once more. Threads are 1 and 2
// of process 9, P is the process.
constexpr auto tables = R"(
  CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringTable VALUES
    (1, 'outer'), (2, 'inner'), (3, 'again'), (4, 'domain'), (5, ''), (6, 'axpy'), (7, 'inner');
  CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(
    flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT, domain INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(
    cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER(
    cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(
    start INT, end INT, deviceId INT, correlationId INT, name INT);
)";

const std::string thread1 = "2, x'090000000100000000000000'";
const std::string thread2 = "2, x'090000000200000000000000'";
const std::string process = "1, x'090000000000000000000000'";

std::string number(std::int64_t value) { return std::to_string(value); }

std::string range(std::int64_t id, std::int64_t from, std::int64_t to, const std::string& where,
                  int name, int domain = 0) {
  const std::string into = "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES";
  return into + "(2, " + number(from) + ", " + number(id) + ", " + where + ", " + number(name) +
         ", " + number(domain) + ");" + into + "(4, " + number(to) + ", " + number(id) + ", " +
         where + ", 0, 0);";
}

// A call of cudaLaunchKernel that takes 5 ns, and its kernel.
std::string launch(std::int64_t id, std::int64_t start, int thread, std::int64_t kernel_time) {
  std::string sql = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(211, " + number(start) + ", " +
                    number(start + 5) + ", 9, " + number(thread) + ", " + number(id) + ");";
  if (kernel_time > 0) {
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(10000, " +
           number(10000 + kernel_time) + ", 0, " + number(id) + ", 6);";
  }
  return sql;
}

std::string printed(const std::string& sql, const ReportOptions& options) {
  Database database(":memory:", Database::Mode::create);
  database.execute(tables + sql);
  std::ostringstream out;
  gpuprof::report::print_reports(database, out, options);
  return out.str();
}

const std::string heading =
    "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n";

// What follows the summary, without the tables' headings.
std::string ranges(const std::string& sql, ReportOptions options = {}) {
  const std::string text = printed(sql, options);
  const auto place = text.find("======== NVTX result:\n");
  if (place == std::string::npos) return "";
  std::string result = text.substr(place);
  for (auto at = result.find(heading); at != std::string::npos; at = result.find(heading)) {
    result.erase(at, heading.size());
  }
  return result;
}

std::string summary(const std::string& sql, int top = 0) {
  return printed(sql, {.chosen = {"print-nvtx-summary"}, .top = top});
}

const ReportOptions gpu{.chosen = {"print-gpu-summary"}};
const ReportOptions api{.chosen = {"print-api-summary"}};

}  // namespace

TEST_CASE("a range has the calls of its thread that begin in it or at its end, and their kernels") {
  const std::string sql = range(1, 100, 200, thread1, 1) + launch(1, 99, 1, 3) +
                          launch(2, 100, 1, 7) + launch(3, 199, 1, 11) + launch(4, 200, 1, 13) +
                          launch(5, 150, 2, 17) + launch(6, 160, 1, 0) + launch(7, 201, 1, 19);
  CHECK(ranges(sql) == R"(======== NVTX result:
========   Thread "<unnamed>" (id = 1)
========     Domain "<unnamed>"
========       Range "outer"
          Range:  100.00%     100ns         1     100ns     100ns     100ns  outer
 GPU activities:  100.00%      31ns         3      10ns       7ns      13ns  axpy
      API calls:  100.00%      15ns         3       5ns       5ns       5ns  cudaLaunchKernel

)");
}

TEST_CASE("all that counts as work of a GPU is in a range, by its kind's name") {
  const std::string sql =
      range(1, 100, 200, thread1, 1) + launch(1, 110, 1, 0) + launch(2, 120, 1, 0) +
      launch(3, 130, 1, 0) + launch(4, 140, 1, 0) +
      R"(CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INT, end INT, correlationId INT, copyKind INT);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INT, end INT, correlationId INT);
         CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INT, end INT, correlationId INT);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS(start INT, stop INT, correlationId INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(10, 60, 1, 1);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(10, 40, 2);
         INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(10, 25, 3);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS VALUES(10, 15, 4);)";
  CHECK(ranges(sql, gpu) == R"(======== NVTX result:
========   Thread "<unnamed>" (id = 1)
========     Domain "<unnamed>"
========       Range "outer"
          Range:  100.00%     100ns         1     100ns     100ns     100ns  outer
 GPU activities:   50.00%      50ns         1      50ns      50ns      50ns  [CUDA memcpy HtoD]
                   30.00%      30ns         1      30ns      30ns      30ns  [CUDA memset]
                   15.00%      15ns         1      15ns      15ns      15ns  [CUDA graph]
                    5.00%       5ns         1       5ns       5ns       5ns  [CUDA memory decompression]

)");
}

TEST_CASE(
    "ranges are ordered by thread, domain and name; a first domain without a name has no heading") {
  const std::string sql = range(1, 100, 200, thread2, 1) + range(2, 100, 200, thread1, 2) +
                          range(3, 100, 200, thread1, 1, 4) + range(4, 100, 200, thread1, 1, 5) +
                          range(5, 300, 350, thread1, 7) + range(6, 1, 2, process, 1) +
                          "CREATE TABLE CUPTI_ACTIVITY_KIND_NAME(objectKind INT, objectId BLOB, "
                          "name INT); INSERT INTO CUPTI_ACTIVITY_KIND_NAME VALUES(" +
                          thread2 + ", 3);";
  CHECK(ranges(sql, {.chosen = {"print-openmp-summary"}}) == R"(======== NVTX result:
========   Thread "<unnamed>" (id = 0)
========     Domain "<unnamed>"
========       Range "outer"
          Range:  100.00%       1ns         1       1ns       1ns       1ns  outer

========   Thread "<unnamed>" (id = 1)
========       Range "outer"
          Range:  100.00%     100ns         1     100ns     100ns     100ns  outer

========     Domain "domain"
========       Range "outer"
          Range:  100.00%     100ns         1     100ns     100ns     100ns  outer

========     Domain "<unnamed>"
========       Range "inner"
          Range:  100.00%     150ns         2      75ns      50ns     100ns  inner

========   Thread "again" (id = 2)
========     Domain "<unnamed>"
========       Range "outer"
          Range:  100.00%     100ns         1     100ns     100ns     100ns  outer

)");
}

TEST_CASE("the ends of a range may come in any order of rows") {
  const std::string end =
      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(4, 200, 1, " + thread1 + ", 0, 0);";
  const std::string start =
      "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES(2, 100, 1, " + thread1 + ", 1, 0);";
  const std::string text = ranges(end + start + launch(1, 150, 1, 7), gpu);
  CHECK_THAT(text, Catch::Contains("Range:  100.00%     100ns") && Catch::Contains("axpy"));
  CHECK_THAT(text, !Catch::Contains("invalid"));
}

TEST_CASE("ends without the other end are counted, blobs of a wrong size are skipped") {
  const std::string into = "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES";
  const std::string sql = into + "(2, 100, 1, " + thread1 + ", 1, 0), (4, 100, 2, " + thread1 +
                          ", 0, 0), (2, 300, 3, " + thread1 + ", 1, 0), (4, 200, 3, " + thread1 +
                          ", 0, 0), (2, 0, 4, " + thread1 + ", 1, 0), (1, 10, 5, " + thread1 +
                          ", 1, 0), (2, 10, 6, 2, x'09', 1, 0), (2, 10, 7, 2, NULL, 1, 0);";
  const std::string text = ranges(sql, gpu);
  CHECK_THAT(text, Catch::StartsWith("======== NVTX result:\n"
                                     "======== Warning: Found 5 invalid range marker(s)\n"));
  CHECK_THAT(text, Catch::Contains("2 records skipped: CUPTI_ACTIVITY_KIND_MARKER with an "
                                   "objectId that is not of 12 bytes."));
  CHECK_THAT(text, !Catch::Contains("Range \""));
  CHECK(ranges(into + "(1, 10, 5, " + thread1 + ", 1, 0);", gpu) == "======== NVTX result:\n");
}

TEST_CASE("in nested ranges of one name a call is there once") {
  const std::string sql = range(1, 100, 300, thread1, 2) + range(2, 110, 200, thread1, 7) +
                          launch(1, 150, 1, 7) + launch(2, 250, 1, 11);
  const std::string text = ranges(sql, gpu);
  CHECK_THAT(text, Catch::Contains("Range:  100.00%     290ns         2"));
  CHECK_THAT(text, Catch::Contains(" GPU activities:  100.00%      18ns         2"));
}

TEST_CASE("ranges that overlap without nesting end each at its own end") {
  const std::string sql = range(1, 100, 200, thread1, 1) + range(2, 150, 250, thread1, 2) +
                          range(3, 160, 300, thread1, 3) + launch(1, 210, 1, 7) +
                          launch(2, 255, 1, 11) + launch(3, 155, 1, 13) + launch(4, 165, 1, 17);
  const std::string text = summary(sql);
  CHECK_THAT(text,
             Catch::Contains(
                 "    30ns         2       0ns      30ns         1      100ns  <unnamed>  outer"));
  CHECK_THAT(text,
             Catch::Contains(
                 "    37ns         3       0ns      37ns         1      100ns  <unnamed>  inner"));
  CHECK_THAT(text,
             Catch::Contains(
                 "    35ns         3       0ns      35ns         1      140ns  <unnamed>  again"));
}

TEST_CASE("a runtime call and its driver call with one id launch their kernels once") {
  const std::string sql = range(1, 100, 200, thread1, 1) + launch(1, 150, 1, 7) +
                          "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES(307, 151, 153, 9, 1, 1);"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(20000, 20002, "
                          "0, 1, 6);";
  const std::string text = ranges(sql);
  CHECK_THAT(text, Catch::Contains(" GPU activities:  100.00%       9ns         2"));
  CHECK_THAT(text, Catch::Contains("cudaLaunchKernel") && Catch::Contains("cuLaunchKernel"));
  CHECK_THAT(summary(sql), Catch::Contains("100.00%       9ns         2"));
}

TEST_CASE("copies and sets are in a range too") {
  const std::string sql = range(1, 100, 200, thread1, 1) + launch(1, 150, 1, 0) +
                          launch(2, 160, 1, 0) + launch(3, 170, 1, 0) + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(copyKind INT, start INT, end INT, correlationId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1, 500, 510, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2(copyKind INT, start INT, end INT, correlationId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES(8, 500, 504, 2);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INT, end INT, correlationId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(600, 606, 3), (0, 0, 3);
  )";
  CHECK_THAT(ranges(sql, gpu), Catch::Contains(R"(
 GPU activities:   50.00%      10ns         1      10ns      10ns      10ns  [CUDA memcpy HtoD]
                   30.00%       6ns         1       6ns       6ns       6ns  [CUDA memset]
                   20.00%       4ns         1       4ns       4ns       4ns  [CUDA memcpy DtoD]
)"));
  CHECK_THAT(summary(sql), Catch::Contains("100.00%      20ns         3"));
}

TEST_CASE("sections that have nothing say so in the range, if they would outside") {
  const std::string sql = range(1, 100, 200, thread1, 1);
  CHECK_THAT(ranges(sql), Catch::EndsWith("  outer\nNo kernels were profiled in this range.\n"
                                          "No API activities were profiled in this range.\n\n"));
  CHECK_THAT(ranges(sql, {.chosen = {"print-openacc-summary"}}),
             Catch::EndsWith("  outer\nNo OpenACC activities were profiled in this range.\n\n"));
  CHECK_THAT(ranges(sql, {.chosen = {"print-openmp-summary"}}), Catch::EndsWith("  outer\n\n"));
  CHECK(ranges(sql, {.chosen = {"print-gpu-trace"}}).empty());
}

TEST_CASE("OpenACC and OpenMP are in a range by thread and time") {
  const std::string sql = range(1, 100, 200, thread1, 1) + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_OTHER(
      eventKind INT, start INT, end INT, cuProcessId INT, cuThreadId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_OTHER VALUES(1, 110, 120, 9, 1), (7, 110, 150, 9, 2),
      (8, 210, 220, 9, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_OPENMP(
      eventKind INT, start INT, end INT, cuProcessId INT, cuThreadId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENMP VALUES(1, 199, 240, 9, 1), (2, 50, 150, 9, 1);
  )";
  CHECK_THAT(ranges(sql), Catch::EndsWith(R"(No API activities were profiled in this range.
 OpenACC (excl):  100.00%      10ns         1      10ns      10ns      10ns  acc_device_init
  OpenMP (incl):  100.00%      41ns         1      41ns      41ns      41ns  omp_parallel

)"));
}

TEST_CASE("several processes: ids of ranges and threads are their own") {
  // As gpuprof's files are; the second process has the first one's ids.
  const std::string sql = range(1, 100, 200, thread1, 1) + launch(1, 150, 1, 7) + R"(
    ALTER TABLE CUPTI_ACTIVITY_KIND_MARKER ADD processId INT;
    UPDATE CUPTI_ACTIVITY_KIND_MARKER SET processId = 9;
    INSERT INTO CUPTI_ACTIVITY_KIND_MARKER SELECT flags, timestamp + 10, id, objectKind, objectId,
      name, domain, 10 FROM CUPTI_ACTIVITY_KIND_MARKER;
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(211, 205, 206, 10, 1, 1099511627776);
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(500, 513, 0, 1099511627776, 6);
  )";
  const std::string text = ranges(sql, gpu);
  CHECK_THAT(text, Catch::Contains("Thread \"<unnamed>\" (id = 1, process 9)\n") &&
                       Catch::Contains("Thread \"<unnamed>\" (id = 1, process 10)\n"));
  CHECK_THAT(text,
             Catch::Contains("      7ns         1") && Catch::Contains("      13ns         1"));
  CHECK_THAT(summary(sql),
             Catch::Contains("100.00%      20ns         2       0ns      10ns         2"));
}

TEST_CASE("the time window is for the beginnings of ranges") {
  const std::string sql =
      range(1, 100, 200, thread1, 1) + range(2, 150, 300, thread1, 2) + launch(1, 160, 1, 7);
  ReportOptions options = gpu;
  options.filter.from = {20};
  const std::string text = ranges(sql, options);
  CHECK_THAT(text, Catch::Contains("Range \"inner\"") && !Catch::Contains("Range \"outer\""));
  CHECK_THAT(text, !Catch::Contains("invalid"));
  options.filter = {.to = {20}};
  CHECK_THAT(ranges(sql, options), Catch::Contains("Range \"outer\"") &&
                                       !Catch::Contains("Range \"inner\"") &&
                                       !Catch::Contains("invalid"));
}

TEST_CASE("threads' ids may have been stored with a sign") {
  const std::string sql =
      range(1, 100, 200, "2, x'09000000FFFFFFFF00000000'", 1) + launch(1, 150, -1, 7);
  CHECK_THAT(ranges(sql, gpu), Catch::Contains("(id = 4294967295)") && Catch::Contains("axpy"));
}

TEST_CASE("JSON: the tables of a range say which range it is") {
  ReportOptions options = gpu;
  options.layout = Layout::json;
  CHECK_THAT(printed(range(1, 100, 200, thread1, 1, 4) + launch(1, 150, 1, 7), options),
             Catch::Contains(R"({"table":"summary","thread":"<unnamed>","thread_id":"1",)"
                             R"("domain":"domain","range":"outer","rows":[)"));
}

TEST_CASE("the NVTX summary: time on the GPU by range, and what is outside of all") {
  const std::string sql = range(1, 100, 400, thread1, 1) + range(2, 110, 200, thread1, 2) +
                          range(3, 210, 300, thread1, 7) + range(4, 100, 150, thread2, 2, 4) +
                          range(5, 120, 500, process, 3) + launch(1, 115, 1, 10) +
                          launch(2, 250, 1, 20) + launch(3, 350, 1, 30) + launch(4, 110, 2, 5) +
                          launch(5, 600, 1, 35);
  CHECK(summary(sql) == R"(======== NVTX summary:
Time(%)  GPU Time   GPU Ops   By Time   GPU Avg    Ranges  Wall Time     Domain  Range
 60.00%      60ns         3       0ns      60ns         1      300ns  <unnamed>  outer
 50.00%      50ns         2       0ns      50ns         1      380ns  <unnamed>  again
 30.00%      30ns         2       0ns      15ns         2      180ns  <unnamed>  inner
  5.00%       5ns         1       0ns       5ns         1       50ns     domain  inner
 35.00%      35ns         1         -         -         -          -          -  (outside all ranges)
)");
  CHECK(summary(sql, 2) == R"(======== NVTX summary:
Time(%)  GPU Time   GPU Ops   By Time   GPU Avg    Ranges  Wall Time     Domain  Range
 60.00%      60ns         3       0ns      60ns         1      300ns  <unnamed>  outer
 50.00%      50ns         2       0ns      50ns         1      380ns  <unnamed>  again
      -         -         -         -         -         -          -          -  (2 more)
 35.00%      35ns         1         -         -         -          -          -  (outside all ranges)
)");
}

namespace {

// Thread 2 has a range of its own at another time, thread 3 has none at all.
std::string with_launch_ranges() {
  std::string sql = "ALTER TABLE CUPTI_ACTIVITY_KIND_MARKER ADD COLUMN processId INT;";
  std::string markers = range(1, 100, 400, thread1, 1) + range(2, 110, 200, thread1, 2) +
                        range(3, 300, 350, thread2, 3);
  for (std::size_t at = 0; (at = markers.find(");", at)) != std::string::npos; at += 5) {
    markers.insert(at, ", 9");
  }
  for (const auto* table :
       {&gpuprof::schema::tables::launch_range, &gpuprof::schema::tables::nvtx_range}) {
    sql += gpuprof::schema::create_table_sql(*table) + ";";
  }
  sql += markers + launch(1, 115, 1, 10) + launch(2, 150, 2, 20) + launch(3, 160, 3, 30) +
         launch(4, 320, 2, 40) + launch(5, 600, 3, 100) +
         "INSERT INTO NVTX_RANGE(_id_, processId, id, start, parent) VALUES(1, 9, 1, 100, NULL), "
         "(2, 9, 2, 110, 1), (3, 9, 3, 300, NULL);"
         "INSERT INTO LAUNCH_RANGE VALUES(1, 2, 1), (2, 2, 0), (3, 2, 0), (4, 3, 1);";
  return sql;
}

}  // namespace

TEST_CASE("a range has what threads without one launched in it, as LAUNCH_RANGE says") {
  const std::string text = ranges(with_launch_ranges());
  for (const char* name : {"outer", "inner"}) {
    const std::size_t at = text.find("Range \"" + std::string(name));
    REQUIRE(at != std::string::npos);
    CHECK_THAT(
        text.substr(at, text.find("\n\n", at) - at),
        Catch::Contains("GPU activities:  100.00%      60ns         3      20ns      10ns      30ns"
                        "  axpy\n") &&
            Catch::Contains("API calls:  100.00%      15ns         3       5ns       5ns       5ns"
                            "  cudaLaunchKernel"));
  }
  const std::size_t again = text.find("Range \"again");
  REQUIRE(again != std::string::npos);
  CHECK_THAT(text.substr(again), Catch::Contains("100.00%      40ns         1"));
  // As --kernels asks: nothing is said to be missing of what is there.
  ReportOptions some;
  some.filter.kernels = "axpy";
  CHECK_THAT(ranges(with_launch_ranges(), some), !Catch::Contains("No kernels were profiled"));
}

TEST_CASE("the NVTX summary: threads without a range have the one that LAUNCH_RANGE says") {
  CHECK(summary(with_launch_ranges()) == R"(======== NVTX summary:
Time(%)  GPU Time   GPU Ops   By Time   GPU Avg    Ranges  Wall Time     Domain  Range
 30.00%      60ns         3      50ns      60ns         1      300ns  <unnamed>  outer
 30.00%      60ns         3      50ns      60ns         1       90ns  <unnamed>  inner
 20.00%      40ns         1       0ns      40ns         1       50ns  <unnamed>  again
 50.00%     100ns         1         -         -         -          -          -  (outside all ranges)
)");
}

TEST_CASE("a range of the process and one of the thread with the same name count once") {
  CHECK_THAT(
      summary(range(1, 100, 200, thread1, 2) + range(2, 100, 200, process, 7) +
              launch(1, 150, 1, 10)),
      Catch::Contains("100.00%      10ns         1       0ns       5ns         2      200ns"));
}

TEST_CASE("the NVTX summary stands alone, or behind what else was chosen") {
  const std::string sql = range(1, 100, 200, thread1, 1) + launch(1, 150, 1, 7);
  const std::string text = printed(sql, {.chosen = {"print-nvtx-summary", "print-api-summary"}});
  CHECK_THAT(text, Catch::StartsWith("======== Profiling result:\n") &&
                       Catch::Contains("\n\n======== NVTX summary:\n"));
  CHECK(summary("") == "======== NVTX summary:\nNo NVTX ranges were profiled.\n");
  CHECK_THAT(summary(range(1, 100, 200, thread1, 1) + R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(500, 513, 0, 1, 6);)"),
             Catch::Contains("There are no API calls in the file") &&
                 Catch::Contains("100.00%      13ns         1         -"));
}

TEST_CASE("JSON of the NVTX summary: null for the default domain and for what has no range") {
  const std::string text = printed(range(1, 100, 200, thread1, 1) + launch(1, 150, 1, 7),
                                   {.chosen = {"print-nvtx-summary"}, .layout = Layout::json});
  CHECK_THAT(text, Catch::Contains(R"({"gpu_time_percent":100.000000,"gpu_time_ns":7,)"
                                   R"("gpu_operations":1,"gpu_time_matched_by_time_ns":0,)"
                                   R"("gpu_time_per_range_ns":7,"ranges":1,)"
                                   R"("wall_time_ns":100,"domain":null,"range":"outer"})"));
  CHECK_THAT(text, Catch::Contains(R"("ranges":null,"wall_time_ns":null,"domain":null,)"
                                   R"t("range":"(outside all ranges)"})t"));
}
