#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "libprof/report/report.hpp"

using gpuprof::report::Layout;
using gpuprof::report::ReportOptions;
using gpuprof::report::Unit;
using gpuprof::store::Database;

namespace {

// Blanks are squeezed to one. The layout itself is compared with nvprof's in tests/golden.
std::string squeezed(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool behind_blank = result.empty() || result.back() == ' ' || result.back() == '\n';
    if (c != ' ' || !behind_blank) result += c;
  }
  return result;
}

constexpr std::string_view tables = R"(
  CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringTable VALUES(1, 'axpy'), (2, 'dot'), (3, 'H100'), (4, 'the long-lived context'),
                                (5, 'loop'), (6, 'solver');
  CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(id INT, name INT);
  INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES(0, 3), (1, 3);
  CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_ INTEGER PRIMARY KEY, start INT, end INT,
    deviceId INT, contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT,
    blockY INT, blockZ INT, registersPerThread INT, staticSharedMemory INT, dynamicSharedMemory INT,
    correlationId INT, gridId INT, name INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(_id_ INTEGER PRIMARY KEY, copyKind INT, srcKind INT,
    dstKind INT, bytes INT, start INT, end INT, deviceId INT, contextId INT, streamId INT,
    correlationId INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT,
    processId INT, threadId INT, correlationId INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER(_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT,
    id INT, objectKind INT, objectId BLOB, name INT, domain INT);
)";

// Values of a kernel's row.
std::string kernel(int start, int end, long long correlation_id, int name) {
  return "(NULL, " + std::to_string(start) + ", " + std::to_string(end) +
         ", 0, 1, 7, 2, 1, 1, 64, 1, 1, 32, 0, 0, " + std::to_string(correlation_id) + ", 0, " +
         std::to_string(name) + ")";
}

std::string trace(const std::string& sql, ReportOptions options) {
  Database database(":memory:", Database::Mode::create);
  database.execute(std::string(tables) + sql);
  std::ostringstream out;
  gpuprof::report::print_reports(database, out, options);
  constexpr std::string_view heading = "======== Profiling result:\n";
  std::string text = out.str();
  if (text.starts_with(heading)) text.erase(0, heading.size());
  return text.substr(0, text.find("\nRegs: "));
}

ReportOptions api() { return {.chosen = {"print-api-trace"}}; }
ReportOptions gpu() { return {.chosen = {"print-gpu-trace"}}; }

}  // namespace

TEST_CASE("rows of all tables come in the order of their start, relative to the first") {
  const std::string sql =
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES" + kernel(1030, 1040, 12, 2) +
      ", " + kernel(1000, 1010, 11, 1) + "; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES" +
      kernel(1020, 1025, 9, 1) +
      "; INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(NULL, 211, 900, 901, 1, 1, 11)";
  CHECK(squeezed(trace(sql, gpu())) ==
        "Start Duration Grid Size Block Size Regs* SSMem* DSMem* Device Context "
        "Stream Name\n"
        "0ns 10ns (2 1 1) (64 1 1) 32 0B 0B H100 (0) 1 7 axpy [11]\n"
        "20ns 5ns (2 1 1) (64 1 1) 32 0B 0B H100 (0) 1 7 axpy [9]\n"
        "30ns 10ns (2 1 1) (64 1 1) 32 0B 0B H100 (0) 1 7 dot [12]\n");
  CHECK(trace(sql, api()) == R"(   Start  Duration  Name
     0ns       1ns  cudaLaunchKernel (axpy [11])
)");
}

TEST_CASE("rows without usable times are left out") {
  const std::string bad = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES" + kernel(0, 0, 1, 1) +
                          ", " + kernel(5, 5, 2, 1) + ", " + kernel(6, 5, 3, 1) + ", " +
                          kernel(0, 5, 4, 1);
  CHECK_THAT(trace(bad, gpu()), Catch::EndsWith("Profiling result:\nNo kernels were profiled.\n"));
  CHECK_THAT(trace(bad + "; INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES "
                         "(NULL, 20, 7, 7, 1, 1, 1), (NULL, 20, 7, 6, 1, 1, 1), "
                         "(NULL, 20, 0, 6, 1, 1, 1)",
                   api()),
             Catch::EndsWith("  Name\n     0ns       0ns  cudaMalloc (axpy [1])\n"));
}

TEST_CASE("of several kernels of a call the last one is named, whatever index there is") {
  const std::string sql =
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES" + kernel(10, 20, 4294967297, 1) +
      ", " + kernel(30, 40, 4294967297, 2) + "; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES" +
      kernel(50, 60, 4294967297, 1) + ", " + kernel(50, 60, 3, 1) +
      "; INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(NULL, 211, 1, 2, 1, 1, 4294967297), "
      "(NULL, 211, 3, 4, 1, 1, 3), (NULL, 211, 5, 6, 1, 1, 5);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER AS SELECT * FROM CUPTI_ACTIVITY_KIND_RUNTIME "
      "WHERE correlationId = 3; UPDATE CUPTI_ACTIVITY_KIND_DRIVER SET cbid = 307;";
  const std::string expected = R"(   Start  Duration  Name
     0ns       1ns  cudaLaunchKernel (dot [4294967297])
     2ns       1ns  cudaLaunchKernel (axpy [3])
     2ns       1ns  cuLaunchKernel (axpy [3])
     4ns       1ns  cudaLaunchKernel
)";
  CHECK(trace(sql, api()) == expected);
  CHECK_THAT(trace(sql, {.chosen = {"print-gpu-trace", "print-api-trace"}}),
             Catch::Contains("  cuLaunchKernel (axpy [3])\n"));
  CHECK(trace(sql + "CREATE INDEX i ON CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(correlationId);"
                    "CREATE INDEX j ON CUPTI_ACTIVITY_KIND_KERNEL(correlationId, start)",
              api()) == expected);
  CHECK(trace(sql + "CREATE INDEX i ON CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(correlationId) "
                    "WHERE name = 1",
              api()) == expected);
}

TEST_CASE("copies between devices have columns of their own, and device names are cut") {
  const std::string sql = R"(
    UPDATE StringTable SET value = 'NVIDIA H100 80GB HBM3' WHERE _id_ = 3;
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2(_id_ INTEGER PRIMARY KEY, copyKind INT, srcKind INT,
      dstKind INT, bytes INT, start INT, end INT, deviceId INT, contextId INT, streamId INT,
      srcDeviceId INT, srcContextId INT, dstDeviceId INT, dstContextId INT, correlationId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2
      VALUES(NULL, 8, 3, 3, 2048, 10, 1010, 0, 1, 7, 0, 1, 1, 2, 5);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(NULL, 1, 1, 6, 0, 20, 21, 0, 1, 7, 6);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(bytes INT, start INT, end INT, deviceId INT,
      contextId INT, streamId INT, correlationId INT, memoryKind INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET
      VALUES(100, 30, 31, 5, 1, 7, 6, 0), (30000000000, 40, 50, 5, 1, 7, 6, 5);
  )";
  CHECK(squeezed(trace(sql, gpu())) ==
        "Start Duration Grid Size Block Size Regs* SSMem* DSMem* Size Throughput "
        "SrcMemType DstMemType Device Context Stream Src Dev Src Ctx Dst Dev Dst Ctx "
        "Name\n"
        "0ns 1.0000us - - - - - 2.0000KB 1.9073GB/s Device Device NVIDIA H100 80G 1 "
        "7 NVIDIA H100 80G 1 NVIDIA H100 80G 2 [CUDA memcpy DtoD]\n"
        "10ns 1ns - - - - - 0B 0.00000B/s Pageable - NVIDIA H100 80G 1 7 - - - - "
        "[CUDA memcpy HtoD]\n"
        "20ns 1ns - - - - - 100B 93.132GB/s Unknown - 5 1 7 - - - - [CUDA memset]\n"
        "30ns 10ns - - - - - 27.940GB 3e+09GB/s Managed - 5 1 7 - - - - [CUDA memset]\n");
}

TEST_CASE("contexts and streams have the names of their device, and columns as wide as all names") {
  const std::string sql = R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_NAME(objectKind INT, objectId BLOB, name INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_NAME VALUES(4, X'000000000100000000000000', 4),
      (4, X'010000000100000000000000', 3), (5, X'000000000300000009000000', 4),
      (5, X'010000000100000007000000', 3);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES)" +
                          kernel(10, 20, 1, 1);
  const std::string text = trace(sql, gpu());
  CHECK_THAT(text,
             Catch::Contains("Device                 Context                  Stream  Name\n"));
  CHECK_THAT(text, Catch::Contains(
                       "H100 (0)  the long-lived context                       7  axpy [1]\n"));
}

TEST_CASE("an end of a range has the name of its start, also of one before the time window") {
  const std::string sql = R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES
      (1, 2, 100, 1, 2, X'2A0000000100000000000000', 5, 6),
      (2, 2, 110, 1, 2, X'2B0000000100000000000000', 6, 0),
      (3, 1, 120, 2, 2, X'2A0000000100000000000000', 0, 0),
      (4, 4, 130, 1, 2, X'2A0000000100000000000000', 0, 0),
      (5, 4, 140, 1, 2, X'2B0000000100000000000000', 0, 0),
      (6, 4, 150, 1, 2, X'2B0000000100000000000000', 0, 0),
      (7, 1, 0, 3, 2, X'2B0000000100000000000000', 5, 0);
  )";
  const std::string heading = "   Start  Duration  Name\n";
  CHECK(trace(sql, api()) == heading + R"(     0ns         -  [Range start] loop (Domain: solver)
    10ns         -  [Range start] solver (Domain: <unnamed>)
    20ns         -  [Marker] <unnamed> (Domain: <unnamed>)
    30ns         -  [Range end] loop (Domain: <unnamed>)
    40ns         -  [Range end] solver (Domain: <unnamed>)
    50ns         -  [Range end] (null) (Domain: <unnamed>)
)");
  ReportOptions options = api();
  options.filter.from = {25};
  CHECK(trace(sql, options) == heading + R"(    30ns         -  [Range end] loop (Domain: <unnamed>)
    40ns         -  [Range end] solver (Domain: <unnamed>)
    50ns         -  [Range end] (null) (Domain: <unnamed>)
)");
}

TEST_CASE("filters hold for each row, and units follow what is left") {
  const std::string sql =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES" + kernel(10, 20, 1, 1) + ", " +
      kernel(1000, 8000, 2, 1) + ", " + kernel(5'000'000, 9'000'000, 3, 2) +
      "; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1 WHERE correlationId = 2;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(NULL, 1, 1, 3, 5000, 2000, 3000, 1, 1, 7, 4)";
  ReportOptions options = gpu();
  options.layout = Layout::csv;
  const std::string kernels =
      "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\","
      "\"Block Z\",\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Device\","
      "\"Context\",\"Stream\",\"Name\",\"Correlation_ID\"\n";
  options.filter.kernels = "^axpy$";
  CHECK(trace(sql, options) ==
        kernels +
            "ns,us,,,,,,,,B,B,,,,,\n"
            "0,0.010000,2,1,1,64,1,1,32,0,0,\"H100 (0)\",\"1\",\"7\",\"axpy\",1\n"
            "990,7.000000,2,1,1,64,1,1,32,0,0,\"H100 (1)\",\"1\",\"7\",\"axpy\",2\n");
  options.filter.kernels.clear();
  options.filter.devices = {0};
  options.filter.from = {100};
  CHECK(trace(sql, options) ==
        kernels +
            "ms,ms,,,,,,,,B,B,,,,,\n"
            "4.999990,4.000000,2,1,1,64,1,1,32,0,0,\"H100 (0)\",\"1\",\"7\",\"dot\",3\n");
}

TEST_CASE("system rows that are damaged are left out and counted") {
  const std::string sql = R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_ENVIRONMENT(deviceId INT, timestamp INT, environmentKind INT,
                                                 data BLOB);
    INSERT INTO CUPTI_ACTIVITY_KIND_ENVIRONMENT VALUES
      (0, 10, 3, X'08CF0000E0930400000000000000000000000000'), (0, 20, 2, X'2900'),
      (0, 30, 9, X'2900000000000000000000000000000000000000'), (0, 40, 2, NULL);
  )";
  CHECK(trace(sql, api()) == R"(   Start  Duration                System  Name
     0ns         -          53000/300000  [Power/Limit (mW)]
    20ns         -                    41  [Unknown]
)"
                             "======== Warning: 2 records skipped: CUPTI_ACTIVITY_KIND_ENVIRONMENT "
                             "with data that are not of 20 bytes.\n");
}

TEST_CASE("unified memory shows who took part and what moved") {
  const std::string sql = R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER(counterKind INT, value INT, start INT,
      end INT, address INT, srcId INT, dstId INT, processId INT, flags INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER VALUES
      (1, 4096, 10, 20, 4096, 4294967295, 1, 42, 0), (3, -1, 11, 0, -1, 4294967295, 0, 42, 0),
      (5, 1000, 13, 0, 4096, 2147483650, 0, 42, 1), (5, 1000, 13, 0, 4096, 2, 0, 42, 0),
      (6, 1, 14, 15, 4096, 1, 0, 42, 0), (6, 1, 15, 16, 4096, 1, 0, 42, 1),
      (7, 999, 16, 0, 4096, 1, 4294967295, 42, 0);
  )";
  CHECK(squeezed(trace(sql, gpu())) ==
        "Start Duration Grid Size Block Size Regs* SSMem* DSMem* Device Context "
        "Stream Unified Memory Virtual Address Name\n"
        "0ns 10ns - - - - - H100 (1) - - 4.000000KB 0x1000 [Unified Memory Memcpy "
        "HtoD]\n"
        "1ns - - - - - - - - - PC 0xffffffffffffffff 0xffffffffffffffff [Unified "
        "Memory CPU page faults]\n"
        "3ns - - - - - - CPU, H100 (1), - - 0.976563KB 0x1000 [Unified Memory page "
        "thrash]\n"
        "3ns - - - - - - H100 (1) - - 0.976563KB 0x1000 [Unified Memory page thrash]\n"
        "4ns 1ns - - - - - H100 (1) - - - 0x1000 [Unified Memory page throttle]\n"
        "5ns 1ns - - - - - CPU - - - 0x1000 [Unified Memory page throttle]\n"
        "6ns - - - - - - H100 (1), CPU - - 999B 0x1000 [Unified Memory remote map]\n");
  ReportOptions options = api();
  options.unit = Unit::us;
  CHECK_THAT(trace(sql, options),
             Catch::StartsWith(R"(   Start  Duration        Unified Memory  Name
      us        us                     B
0.000000  0.010000  4.09600000000000e+03  [Unified Memory Memcpy HtoD]
)"));
  const std::string fault_with_end = R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER
      VALUES(3, 1, 12, 12, 4096, 4294967295, 0, 42, 0);
  )";
  const std::string counted = trace(sql + fault_with_end, gpu());
  CHECK_THAT(counted, Catch::StartsWith("======== Warning: Found 1 invalid records"));
  CHECK_THAT(counted, Catch::EndsWith(trace(sql, gpu())));
}

TEST_CASE("JSON has the times as they are in the file, ids and no cut names") {
  const std::string sql =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES" + kernel(1030, 1040, 11, 2) +
      "; INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(NULL, 211, 1000, 1001, 42, 43, 11)";
  ReportOptions options{.chosen = {"print-gpu-trace", "print-api-trace"}, .layout = Layout::json};
  const auto document = nlohmann::json::parse(trace(sql, options));
  const auto& rows = document["tables"][0]["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["kind"] == "runtime");
  CHECK(rows[0]["start_ns"] == 1000);
  CHECK(rows[0]["name"] == "cudaLaunchKernel");
  CHECK(rows[0]["kernel"] == "dot");
  CHECK(rows[0]["process_id"] == 42);
  CHECK(rows[0]["thread_id"] == 43);
  CHECK(rows[0]["grid"].is_null());
  CHECK(rows[1]["start_ns"] == 1030);
  CHECK(rows[1]["relative_start_ns"] == 30);
  CHECK(rows[1]["duration_ns"] == 10);
  CHECK(rows[1]["grid"] == nlohmann::json{2, 1, 1});
  CHECK(rows[1]["name"] == "dot");
  CHECK(rows[1]["device_id"] == 0);
  CHECK(rows[1]["correlation_id"] == 11);
  CHECK(rows[1]["process_id"].is_null());

  const auto empty = nlohmann::json::parse(trace("", options));
  CHECK(empty["tables"][0]["table"] == "trace");
  CHECK(empty["tables"][0]["rows"].empty());
}
