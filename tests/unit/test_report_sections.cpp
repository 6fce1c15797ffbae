// What stands behind the summary: unified memory, system profiling, OpenACC, OpenMP, topologies.
#include <catch2/catch.hpp>
#include <string>

#include "libprof/report/report.hpp"
#include "tests/unit/printed.hpp"

using gpuprof::report::Layout;
using gpuprof::report::NameStyle;
using gpuprof::report::ReportOptions;
using gpuprof::report::Unit;
using gpuprof::store::Database;
using gpuprof::test::printed;

namespace {

Database memory(const std::string& sql) {
  Database database(":memory:", Database::Mode::create);
  database.execute(R"(
    CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE(id INT, uuid BLOB, name INT);
  )");
  database.execute(sql);
  return database;
}

// Of the line that begins so.
std::string from(const std::string& text, const std::string& line) {
  const auto place = text.find(line);
  return place == std::string::npos ? "" : text.substr(place);
}

constexpr auto managed = R"(
  INSERT INTO StringTable VALUES(1, 'V100');
  INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES(0, NULL, 1), (1, NULL, 1);
  CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER(
    counterKind INT, value INT, start INT, end INT, srcId INT, dstId INT, flags INT);
)";
constexpr auto into = "INSERT INTO CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER VALUES ";

constexpr auto openacc_tables = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_DATA(
    eventKind INT, parentConstruct INT, threadId INT, lineNo INT, start INT, end INT,
    cuDeviceId INT, cuProcessId INT, cuThreadId INT, srcFile INT, bytes INT, varName INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH(
    eventKind INT, parentConstruct INT, threadId INT, lineNo INT, start INT, end INT,
    cuDeviceId INT, cuProcessId INT, cuThreadId INT, srcFile INT, kernelName INT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_OTHER(
    eventKind INT, parentConstruct INT, threadId INT, lineNo INT, start INT, end INT,
    cuDeviceId INT, cuProcessId INT, cuThreadId INT, srcFile INT);
)";
const std::string openacc = openacc_tables + std::string(R"(
  INSERT INTO StringTable VALUES(1, '/home/me/a.c'), (2, 'x'), (3, 'main_7_gpu'), (4, '/other/a.c');
)");

// With the blobs that links need in table b.
constexpr auto links = R"(
  INSERT INTO StringTable VALUES(1, 'V100');
  CREATE TABLE CUPTI_ACTIVITY_KIND_NVLINK(
    typeDev0 INT, typeDev1 INT, idDev0 BLOB, idDev1 BLOB, flag INT, physicalNvLinkCount INT,
    portDev0 BLOB, portDev1 BLOB, bandwidth INT, nvswitchConnected INT);
  CREATE TABLE b(gpu0 BLOB, gpu1 BLOB, other BLOB, cpu BLOB, two BLOB, none BLOB);
  INSERT INTO b VALUES(
    x'000102030405060708090A0B0C0D0E0F', x'101112131415161718191A1B1C1D1E1F',
    x'202122232425262728292A2B2C2D2E2F', x'05000000040000000000000000000000',
    x'0304FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF',
    x'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF');
  INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE SELECT 0, gpu0, 1 FROM b UNION ALL SELECT 1, gpu1, 1 FROM b;
)";

}  // namespace

TEST_CASE("unified memory: each kind counts for the devices, or the CPU, that it names") {
  Database database = memory(std::string(managed) + into + R"t(
    (1, 1000, 10, 20, 4294967295, 0, 0), (1, 2000, 30, 50, -1, 0, 0),
    (2, 4096, 10, 11, 1, 4294967295, 0),
    (3, 77, 10, 0, 0, 0, 1), (3, 78, 11, 0, 0, 0, 1),
    (4, 9, 10, 15, 0, 0, 0),
    (5, 64, 10, 0, 2, 0, 0), (5, 64, 11, 0, 3, 0, 1), (5, 64, 12, 0, 4294967295, 0, 1),
    (6, 1, 10, 17, 1, 0, 0), (6, 1, 10, 17, 4294967295, 0, 1),
    (7, 8, 10, 0, 4294967295, 1, 0), (7, 8, 10, 0, 0, 4294967295, 0),
    (8, 32, 10, 12, 0, 1, 0), (99, 1, 10, 12, 0, 1, 0);
  )t");
  CHECK(from(printed(database, {.chosen = {"print-gpu-summary"}}), "\n====") == R"t(
======== Unified Memory profiling result:
Device "V100 (0)"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
       2  1.4648KB  0.9766KB  1.9531KB  2.929688KB        30ns  Host To Device
       1         -         -         -           -         5ns  Gpu page fault groups
       1       64B       64B       64B         64B           -  Memory thrashes
       1        8B        8B        8B          8B           -  Remote mapping from device
       1       32B       32B       32B         32B         2ns  Transfers from Device
Device "V100 (1)"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
       1  4.0000KB  4.0000KB  4.0000KB  4.000000KB         1ns  Device To Host
       1         -         -         -           -         7ns  Page throttles
       2       64B       64B       64B        128B           -  Memory thrashes
       1        8B        8B        8B          8B           -  Remote mapping to device
       1       32B       32B       32B         32B         2ns  Transfers to Device
Total CPU Page faults: 2
Total CPU thrashes: 2
Total CPU throttles: 1
Total remote mappings from CPU: 1
Total remote mappings to CPU: 1
)t");
  CHECK_THAT(printed(database, {.chosen = {"print-api-summary"}}), !Catch::Contains("Unified"));
}

TEST_CASE("unified memory: totals have at most six decimals, -u goes for times alone") {
  Database database =
      memory(std::string(managed) + into + "(2, 2415919104, 1, 3858506001, 0, 4294967295, 0)");
  const auto row = [&](Unit unit) {
    return from(printed(database, {.chosen = {"print-gpu-summary"}, .unit = unit}), "       1  ");
  };
  const std::string sizes = "       1  2.2500GB  2.2500GB  2.2500GB  2.250000GB  ";
  CHECK(row(Unit::automatic) == sizes + " 3.858506s  Device To Host\n");
  CHECK(row(Unit::ms) == sizes + "3.8585e+03ms  Device To Host\n");
  CHECK(row(Unit::s) == sizes + "  3.858506s  Device To Host\n");
}

TEST_CASE("unified memory: per device only what came with the first versions") {
  Database database = memory(std::string(managed) + into + R"t(
    (1, 4096, 10, 20, 4294967295, 0, 0), (3, 77, 10, 0, 0, 0, 1), (5, 64, 10, 0, 3, 0, 1);
  )t");
  const std::string text = printed(database, {.chosen = {"print-summary-per-gpu"}});
  CHECK_THAT(text, Catch::Contains("Host To Device"));
  CHECK_THAT(text, !Catch::Contains("thrash") && !Catch::Contains("CPU"));
  CHECK(text.find("Unified") == text.rfind("Unified"));
}

TEST_CASE("unified memory: faults of the CPU alone are a result") {
  Database database = memory(std::string(managed) + into + "(3, 77, 10, 0, 0, 0, 1)");
  CHECK_THAT(printed(database, {.layout = Layout::csv}),
             Catch::EndsWith("profiled.\n\nTotal CPU Page faults: 1\n"));
}

TEST_CASE("unified memory: records with impossible times are counted and left out") {
  Database database = memory(std::string(managed) + into + R"t(
    (1, 4096, 20, 10, 4294967295, 0, 0), (2, 1, 10, 0, 0, 4294967295, 0), (3, 77, 10, 10, 0, 0, 1);
  )t");
  const std::string text = printed(database);
  CHECK_THAT(text, Catch::Contains("Found 3 invalid records in the result."));
  CHECK_THAT(text, !Catch::Contains("Unified"));
}

TEST_CASE("unified memory: JSON has numbers without units, and null for what a kind lacks") {
  Database database =
      memory(std::string(managed) + into + "(4, 9, 10, 15, 0, 0, 0), (3, 77, 10, 0, 0, 0, 1)");
  CHECK_THAT(printed(database, {.chosen = {"print-gpu-summary"}, .layout = Layout::json}),
             Catch::Contains(
                 R"t({"device":"V100 (0)","device_id":0,"name":"Gpu page fault groups","count":1,)t"
                 R"t("avg_bytes":null,"min_bytes":null,"max_bytes":null,"bytes":null,)t"
                 R"t("time_ns":5})t") &&
                 Catch::Contains(
                     R"t({"device":"CPU","device_id":null,"name":"CPU Page faults","count":1,)t"));
}

TEST_CASE("system profiling: by device and quality; data of a wrong size are told") {
  Database database = memory(R"t(
    CREATE TABLE CUPTI_ACTIVITY_KIND_ENVIRONMENT(
      deviceId INT, timestamp INT, environmentKind INT, data BLOB);
    INSERT INTO CUPTI_ACTIVITY_KIND_ENVIRONMENT VALUES
      (3, 1, 2, x'2900000000000000000000000000000000000000'),
      (3, 2, 2, x'2A00000000000000000000000000000000000000'),
      (3, 3, 1, x'6405000A6D030000030000001000000000000000'),
      (2, 4, 4, x'1400000000000000000000000000000000000000'),
      (2, 5, 9, x'1400000000000000000000000000000000000000'),
      (2, 6, 4, x'14000000'), (2, 7, 4, NULL);
  )t");
  CHECK(from(printed(database, {.chosen = {"print-gpu-summary"}}), "\n====") == R"t(
======== System profiling result:
Device "2"
                         Count         Avg         Min         Max
             Fan (%)         1       20.00       20.00       20.00
Device "3"
                         Count         Avg         Min         Max
      SM Clock (MHz)         1  1.6777e+08  1.6777e+08  1.6777e+08
  Memory Clock (MHz)         1      877.00      877.00      877.00
     Temperature (C)         2       41.50       41.00       42.00
======== Warning: 2 records skipped: CUPTI_ACTIVITY_KIND_ENVIRONMENT with data that are not of 20 bytes.
)t");
  ReportOptions one_device;
  one_device.filter.devices = {2};
  CHECK_THAT(printed(database, one_device), !Catch::Contains("Device \"3\""));
}

TEST_CASE("OpenACC: a record's own time is without those that lie in it, on its thread") {
  Database database = memory(openacc + R"t(
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_OTHER VALUES
      (9, 2, 0, 7, 100, 200, 0, 1, 1, 1),
      (7, 2, 0, 7, 120, 150, 0, 1, 1, 1),
      (8, 2, 0, 7, 130, 140, 0, 1, 1, 1),
      (10, 2, 0, 7, 100, 200, 0, 1, 2, 1),
      (2, 0, 0, 0, 130, 140, 0, 1, 3, 0),
      (3, 0, 5, 0, 130, 140, 0, 1, 3, 0);
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH VALUES(4, 2, 0, 7, 160, 170, 0, 1, 1, 1, 3);
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_DATA VALUES(13, 4, 0, 7, 190, 230, 0, 1, 1, 4, 8, 2),
      (14, 4, 0, 7, 195, 199, 0, 1, 1, 4, 8, 2), (99, 99, 0, 7, 300, 300, 0, 1, 1, 0, 8, 0);
  )t");
  CHECK(printed(database, {.chosen = {"print-openacc-summary"}}) == R"t(======== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 OpenACC (excl):   40.00%     100ns         1     100ns     100ns     100ns  acc_update@a.c:7
                   24.00%      60ns         1      60ns      60ns      60ns  acc_compute_construct@a.c:7
                   14.40%      36ns         1      36ns      36ns      36ns  acc_create@a.c:7 (x)
                    8.00%      20ns         1      20ns      20ns      20ns  acc_wait@a.c:7
                    4.00%      10ns         1      10ns      10ns      10ns  acc_enqueue_launch@a.c:7 (main_7_gpu)
                    4.00%      10ns         1      10ns      10ns      10ns  acc_implicit_wait@a.c:7
                    4.00%      10ns         1      10ns      10ns      10ns  acc_runtime_shutdown
                    1.60%       4ns         1       4ns       4ns       4ns  acc_delete@a.c:7 (x)
                    0.00%       0ns         1       0ns       0ns       0ns  acc_device_shutdown
                    0.00%       0ns         1       0ns       0ns       0ns  acc_invalid
)t");
}

TEST_CASE("OpenACC: inclusive times, constructs, and what is said when there is nothing") {
  Database database = memory(openacc);
  CHECK(printed(database, {.chosen = {"print-openacc-summary"}}) ==
        "======== Profiling result:\nNo OpenACC activities were profiled.\n");
  CHECK_THAT(printed(database), !Catch::Contains("OpenACC"));
  database.execute(R"t(
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_OTHER VALUES
      (9, 1, 0, 7, 100, 200, 0, 1, 1, 1), (7, 16, 0, 7, 120, 150, 0, 1, 1, 1),
      (7, 77, 0, 7, 120, 150, 0, 1, 1, 1);
  )t");
  ReportOptions options{.chosen = {"print-openacc-summary"}};
  options.openacc_inclusive = true;
  options.openacc_constructs = true;
  CHECK(printed(database, options) == R"t(======== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 OpenACC (incl):   62.50%     100ns         1     100ns     100ns     100ns  acc_compute_construct[parallel]@a.c:7
                   18.75%      30ns         1      30ns      30ns      30ns  acc_wait[runtime api]@a.c:7
                   18.75%      30ns         1      30ns      30ns      30ns  acc_wait[unknown]@a.c:7
)t");
}

TEST_CASE("OpenACC: the summary of each GPU has all records, --devices chooses those of one") {
  Database database = memory(std::string(managed) + openacc_tables + R"t(
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_OTHER VALUES
      (1, 0, 0, 0, 100, 200, 0, 1, 1, 0), (7, 0, 0, 0, 300, 400, 1, 1, 1, 0);
  )t");
  const std::string text = printed(database, {.chosen = {"print-summary-per-gpu"}});
  const std::string first = text.substr(0, text.find("\"V100 (1)\""));
  CHECK_THAT(first, Catch::Contains("acc_device_init") && Catch::Contains("acc_wait"));
  ReportOptions second{.chosen = {"print-openacc-trace"}};
  second.filter.devices = {1};
  CHECK_THAT(printed(database, second),
             Catch::Contains("acc_wait") && !Catch::Contains("acc_device_init"));
}

TEST_CASE("OpenACC: the trace merges the three tables in the order of time") {
  Database database = memory(openacc + R"t(
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_OTHER VALUES
      (1, 0, 0, 0, 100, 200, 0, 1, 1, 0), (9, 2, 0, 7, 300, 500, 0, 1, 1, 1);
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH VALUES(4, 2, 0, 7, 400, 410, 0, 1, 1, 1, 3);
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_DATA VALUES(13, 4, 0, 7, 250, 260, 0, 1, 1, 4, 8, 2);
  )t");
  CHECK(printed(database, {.chosen = {"print-openacc-trace"}}) == R"t(======== Profiling result:
   Start  Duration      Size           Device   Context    Stream  Name
     0ns     100ns         -                0         0         0  acc_device_init
   150ns      10ns        8B                0         0         0  acc_create@a.c:7 (x)
   200ns     200ns         -                0         0         0  acc_compute_construct@a.c:7
   300ns      10ns         -                0         0         0  acc_enqueue_launch@a.c:7 (main_7_gpu)
)t");
}

TEST_CASE("OpenMP: kinds without a name are one row, and bad times are told") {
  Database database = memory(R"t(
    CREATE TABLE CUPTI_ACTIVITY_KIND_OPENMP(eventKind INT, start INT, end INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_OPENMP VALUES
      (1, 10, 40), (0, 10, 14), (7, 10, 15), (-1, 10, 11), (2, 20, 10);
  )t");
  CHECK(printed(database, {.chosen = {"print-openmp-summary"}}) ==
        R"t(======== Warning: Found 1 invalid records in the result.
======== Warning: This can happen if device ran out of memory or if a device kernel was stopped due to an assertion.
======== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
  OpenMP (incl):   75.00%      30ns         1      30ns      30ns      30ns  omp_parallel
                   25.00%      10ns         3       3ns       1ns       5ns  omp_unknown
)t");
}

TEST_CASE("NVLink: ends by UUID, CPUs by number, a port for each link, speed in its unit") {
  Database database = memory(std::string(links) + R"t(
    INSERT INTO CUPTI_ACTIVITY_KIND_NVLINK SELECT 1, 1, gpu0, gpu1, 2, 2, two, two, 1500000, 0 FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_NVLINK SELECT 2, 1, cpu, gpu1, 28, 1, none, none, 750000, 0 FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_NVLINK SELECT 1, 1, other, gpu0, 0, 1, two, none, 999, 0 FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_NVLINK SELECT 1, 1, gpu0, gpu1, 2, 2, x'00', two, 1, 0 FROM b;
  )t");
  CHECK(from(printed(database, {.chosen = {"print-nvlink-topology"}}), "\n====") == R"t(
======== NVLink topology:
V100 0 port 3, 4, V100 1 port 3, 4, NVLink Bandwidth 1.500GB/s, Physical Links 2, Sysmem Access False, Sysmem Atomic Access False, Peer Access True, Peer Atomic Access False
CPU 5, V100 1 port -1, NVLink Bandwidth 750.0MB/s, Physical Links 1, Sysmem Access True, Sysmem Atomic Access True, Peer Access False, Peer Atomic Access True
V100 0 port -1, NVLink Bandwidth 999.0KB/s, Physical Links 1, Sysmem Access False, Sysmem Atomic Access False, Peer Access False, Peer Atomic Access False
======== Warning: 1 record skipped: CUPTI_ACTIVITY_KIND_NVLINK with an id that is not of 16 bytes or ports not of 32.
)t");
}

TEST_CASE("NVLink: speeds where units and digits change") {
  const auto speed = [](const std::string& kilobytes) {
    Database database = memory(std::string(links) +
                               "INSERT INTO CUPTI_ACTIVITY_KIND_NVLINK SELECT 1, 1, gpu0, gpu1, 2, "
                               "2, two, two, " +
                               kilobytes + ", 0 FROM b");
    const std::string text = printed(database, {.chosen = {"print-nvlink-topology"}});
    const auto begin = text.find("Bandwidth ") + 10;
    return text.substr(begin, text.find(',', begin) - begin);
  };
  CHECK(speed("0") == "0.0000B/s");
  CHECK(speed("1") == "1.000KB/s");
  CHECK(speed("1000") == "1.000MB/s");
  CHECK(speed("999999") == "1000.MB/s");
  CHECK(speed("1000000") == "1.000GB/s");
  CHECK(speed("1500000000") == "2e+03GB/s");
}

TEST_CASE("NVLink: what there is instead of a list") {
  Database database = memory(links);
  const ReportOptions options{.chosen = {"print-nvlink-topology"}};
  CHECK_THAT(printed(database, options), Catch::EndsWith("is not present in this system.\n"));
  database.execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_NVLINK "
      "SELECT 1, 1, gpu0, gpu1, 2, 2, two, two, 1500000, 1 FROM b");
  CHECK_THAT(
      printed(database, options),
      Catch::EndsWith("======== NVLink topology:\n======== NVLink topology information is not "
                      "supported for this configuration.\n"));
  CHECK_THAT(printed(database, {.chosen = options.chosen, .layout = Layout::json}),
             Catch::Contains(R"t({"device0":"V100 0","ports0":"3, 4","device1":"V100 1",)t") &&
                 Catch::Contains(R"t("bytes_per_second":1500000000,"links":2,)t") &&
                 Catch::Contains(R"t("nvswitch":1)t"));
  database.execute("CREATE TABLE Version(version TEXT); INSERT INTO Version VALUES('11')");
  CHECK_THAT(printed(database, options),
             Catch::EndsWith("is not supported for this toolkit version.\n"));
}

TEST_CASE("PCIe: bridges are followed to the host, in their domain, and not in circles") {
  Database database = memory(R"t(
    CREATE TABLE CUPTI_ACTIVITY_KIND_PCIE(
      type INT, id BLOB, domain INT, upstreamBus INT, attr BLOB);
    CREATE TABLE b AS SELECT zeroblob(144) AS gpu, x'0200' AS bus2, x'0300' AS bus3,
      x'0400' AS bus4, zeroblob(142) AS rest;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 0, x'00000000', 0, 3, gpu FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 1, x'09000000', 0, 0, bus2 || rest FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 1, x'08000000', 0, 2, bus3 || rest FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 0, x'01000000', 1, 3, gpu FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 0, x'02000000', 0, 4, gpu FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 1, x'07000000', 0, 4, bus4 || rest FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 0, x'00000000', 0, 3, gpu FROM b;
    INSERT INTO CUPTI_ACTIVITY_KIND_PCIE SELECT 0, x'00', 0, 3, gpu FROM b;
    UPDATE CUPTI_ACTIVITY_KIND_PCIE SET attr = CAST(attr AS BLOB);
  )t");
  const std::string text = from(printed(database, {.chosen = {"print-pci-topology"}}), "\n====");
  CHECK_THAT(text, Catch::StartsWith(R"t(
======== PCIE topology:
GPU 0 -- Bridge 2 -- Bridge 1 -- Host Bridge
GPU 1 -- Host Bridge
GPU 2 -- Bridge 3 -- )t"));
  CHECK_THAT(text, Catch::EndsWith("-- Host Bridge\n"
                                   "======== Warning: 1 record skipped: CUPTI_ACTIVITY_KIND_PCIE "
                                   "with an id that is not of 4 bytes or an attr not of 144.\n"));
}
