// What a file knows of shapes of launches, of how durations are spread, and of memory.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "libprof/base/percentiles.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/durations.hpp"
#include "libprof/compute/memory/process_memory.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/loaded.hpp"

using namespace gpuprof;
using store::Database;
using test::rows;

namespace {

Database derived(const std::string& sql) {
  Database database = test::empty_profile();
  database.execute(sql);
  CHECK(compute::compute(database, {.more = memory::write_process_memory}).empty());
  return database;
}

std::string device(int process) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE(id, processId, computeCapabilityMajor, "
         "computeCapabilityMinor, numMultiprocessors, maxWarpsPerMultiprocessor, "
         "maxBlocksPerMultiprocessor, maxRegistersPerMultiprocessor, "
         "maxSharedMemoryPerMultiprocessor, maxRegistersPerBlock) VALUES(0, " +
         std::to_string(process) + ", 9, 0, 132, 64, 32, 65536, 233472, 65536);";
}

std::string kernel(const std::string& grid, int block, int registers, int shared, int process = 7,
                   const std::string& carveout = "0, 0") {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end, deviceId, gridX, gridY, "
         "gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, "
         "dynamicSharedMemory, processId, isSharedMemoryCarveoutRequested, "
         "sharedMemoryCarveoutRequested) VALUES(10, 20, 0, " +
         grid + ", " + std::to_string(block) + ", 1, 1, " + std::to_string(registers) + ", 0, " +
         std::to_string(shared) + ", " + std::to_string(process) + ", " + carveout + ");";
}

constexpr const char* reserved =
    "INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE(flags, deviceId, attributeId, valueInt, "
    "processId) VALUES(1, 0, 111, 1024, 7), (0, 0, 111, 5, 7), (1, 0, 110, 6, 7);";

}  // namespace

TEST_CASE("derive: kernels have the occupancy of their shape") {
  Database database = derived(
      device(7) + device(8) + reserved + kernel("2, 2, 66", 1024, 16, 0) +
      kernel("264, 1, 1", 1024, 16, 0) + kernel("8, 1, 1", 128, 74, 0) +
      kernel("1, 1, 1", 32, 0, 49152) + kernel("1, 1, 1", 32, 0, 49152, 7, "1, 25") +
      // The device's reserved memory is not known, the process is not, and no device has that.
      kernel("1, 1, 1", 32, 0, 0, 8) + kernel("1, 1, 1", 32, 0, 0, 9) +
      kernel("1, 1, 1", 1025, 0, 0) + kernel("2147483647, 2147483647, 2147483647", 32, 0, 0));
  CHECK(rows(database,
             "SELECT theoretical_occupancy, occupancy_limiter, blocks_per_sm, round(waves, 3), "
             "round(tail_share, 3) FROM kernels") ==
        "1.0|warps|2|1.0|0.0 1.0|warps|2|1.0|0.0 0.375|registers|6|0.01|0.99 "
        "0.0625|shared memory|4|0.002|0.998 0.015625|shared memory|1|0.008|0.992 "
        "-|-|-|-|- -|-|-|-|- -|-|-|-|- -|-|-|-|-");
  // The grid counts as a number of blocks.
  CHECK(rows(database, "SELECT count(*) FROM LAUNCH_SHAPE") == "4");
}

TEST_CASE("derive: percentiles are those of all values, however many there are") {
  std::mt19937_64 random(5);
  // With a small limit they are counted.
  for (const std::size_t most : {std::size_t{100000}, std::size_t{1000}}) {
    compute::Durations durations(most, 100000);
    std::vector<std::vector<std::int64_t>> expected(5);
    for (int i = 0; i < 9000; ++i) {
      const std::size_t group = i % 4;  // the last one stays empty
      const std::int64_t value = group == 0   ? static_cast<std::int64_t>(random() % 90)
                                 : group == 1 ? static_cast<std::int64_t>(random() % 400) * 1000
                                 : group == 2 ? static_cast<std::int64_t>(random() >> 1)
                                              : -static_cast<std::int64_t>(random() % 100);
      // What does not fit into 32 bits is seldom.
      const std::int64_t kept = group == 2 && i % 40 != 2 ? value & 255 : value;
      expected[group].push_back(kept);
      durations.add(group, kept);
    }
    for (std::size_t group = 0; group < 4; ++group) {
      INFO(group);
      std::vector<std::int64_t>& all = expected[group];
      const auto at = [&](std::size_t place) { return at_place(all, place); };
      const auto found = durations.spread(group);
      REQUIRE(found);
      CHECK(found->median == median(all.size(), at));
      CHECK(found->p90 == percentile(all.size(), 90, at));
      CHECK(found->p99 == percentile(all.size(), 99, at));
    }
    CHECK_FALSE(durations.spread(4));
  }
  // And rounded, where too many are different.
  compute::Durations durations(1000, 100);
  for (std::int64_t i = 1; i <= 100000; ++i) durations.add(0, i * 1000);
  const auto found = durations.spread(0);
  REQUIRE(found);
  CHECK(found->p90 <= 90'000'000);
  CHECK(found->p90 > 90'000'000 * 0.99);
  // Those of many are tallied, some of them when others have been counted already.
  compute::Durations many(2 * compute::Durations::tally_size);
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 200'000; ++i) {
    const std::int64_t value = i % 5 == 0 ? i * 3 : i % 3 == 0 ? -i : i * i % 70'000;
    expected.push_back(value);
    many.add(0, value);
    many.add(1 + static_cast<std::size_t>(i % 3), value);
  }
  const auto at = [&](std::size_t place) { return at_place(expected, place); };
  const auto of_many = many.spread(0);
  REQUIRE(of_many);
  CHECK(of_many->median == median(expected.size(), at));
  CHECK(of_many->p90 == percentile(expected.size(), 90, at));
  CHECK(of_many->p99 == percentile(expected.size(), 99, at));
  // Groups that are too many have none.
  durations.add(compute::Durations::most_groups, 1);
  CHECK_FALSE(durations.spread(compute::Durations::most_groups));
}

TEST_CASE("percentiles: by nearest rank, the median between the two in the middle") {
  std::vector<std::int64_t> values{40, 10, 30, 20};
  const auto at = [&](std::size_t place) { return at_place(values, place); };
  CHECK(median(4, at) == 25);
  CHECK(percentile(4, 90, at) == 40);
  CHECK(percentile(4, 50, at) == 20);
  values = {-3, -4};
  CHECK(median(2, at) == -4);  // towards the first of the two, as std::midpoint rounds
  values = {7};
  CHECK(median(1, at) == 7);
  CHECK(percentile(1, 99, at) == 7);
}

TEST_CASE("derive: summaries have the percentiles of names, and calls of one function are one") {
  std::string sql =
      "INSERT INTO StringTable(_id_, value) VALUES(1, 'add'), (2, 'mul');"
      "INSERT INTO API_NAME VALUES('runtime', 1, 'cudaFoo_v1'), ('runtime', 2, 'cudaFoo_ptsz'), "
      "('driver', 1, '__cuBar_v2');";
  const auto add = [&](const std::string& table, const std::string& column, int what, int length) {
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_" + table + "(" + column + ", start, end) VALUES(" +
           std::to_string(what) + ", 100, " + std::to_string(100 + length) + ");";
  };
  for (int i = 1; i <= 100; ++i) add("RUNTIME", "cbid", 1 + i % 2, i);
  for (int i = 1; i <= 200; ++i) {
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_" +
           std::string(i % 2 ? "CONCURRENT_KERNEL" : "KERNEL") +
           "(deviceId, name, start, end) VALUES(0, " + std::to_string(1 + i % 2) + ", 100, " +
           std::to_string(100 + i) + ");";
  }
  add("DRIVER", "cbid", 1, 9);
  add("DRIVER", "cbid", 5, 7);
  add("DRIVER", "cbid", 6, -100);  // its end was not collected
  add("INTERNAL_LAUNCH_API", "cbid", 3, 11);
  Database database = derived(sql);
  CHECK(rows(database, "SELECT name, timed, median, p90, p99 FROM kernel_summary ORDER BY name") ==
        "add|100|101|180|198 mul|100|100|179|197");
  CHECK(rows(database, "SELECT domain, name, timed, median, p90, p99 FROM api_summary") ==
        "driver|__cuBar|1|9|9|9 driver|driver function 5|1|7|7|7 driver|driver function 6|0|-|-|- "
        "internal|internal launch|1|11|11|11 runtime|cudaFoo|100|50|90|99");
}

TEST_CASE("derive: memory in use, its peak, and whose it was then") {
  std::string sql = "INSERT INTO StringTable(_id_, value) VALUES(1, 'torch'), (2, 'nccl');";
  const auto operation = [&](int time, const char* type, int kind, int pool, int address, int bytes,
                             int source) {
    sql +=
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(timestamp, memoryOperationType, memoryKind, "
        "poolType, address, bytes, source, deviceId, processId) VALUES(" +
        std::to_string(time) + ", " + type + ", " + std::to_string(kind) + ", " +
        std::to_string(pool) + ", " + std::to_string(address) + ", " + std::to_string(bytes) +
        ", " + std::to_string(source) + ", 0, 7);";
  };
  constexpr int pinned = 2, of_device = 3;
  operation(20, "1", of_device, 0, 2, 300, 2);  // stored before the first
  operation(10, "1", of_device, 0, 1, 100, 1);
  operation(30, "2", of_device, 0, 1, 100, 0);
  operation(40, "1", of_device, 0, 3, 150, 1);
  operation(40, "1", of_device, 0, 4, 50, 1);
  operation(50, "2", of_device, 0, 2, 300, 0);
  operation(60, "1", of_device, 0, 5, 300, 0);  // as much again
  operation(15, "1", of_device, 1, 1, 8, 0);    // from a pool
  operation(16, "2", pinned, 0, 9, 64, 0);      // it was there before
  operation(17, "0", pinned, 0, 9, 64, 0);      // neither
  Database database = derived(sql);
  CHECK(rows(database,
             "SELECT time, change, in_use, memory, pool_type FROM memory_timeline "
             "ORDER BY time, operation_id") ==
        "10|100|100|Device|- 15|8|8|Device|local 16|-64|-64|Pinned|- 17|-|-|Pinned|- "
        "20|300|400|Device|- 30|-100|300|Device|- 40|150|450|Device|- 40|50|500|Device|- "
        "50|-300|200|Device|- 60|300|500|Device|-");
  CHECK(rows(database, "SELECT bytes, allocations, memory, pool_type, time FROM memory_peak") ==
        "500|3|Device|-|40 8|1|Device|local|15");
  CHECK(rows(database, "SELECT source, bytes, allocations, share, pool_type FROM memory_owners") ==
        "torch|200|2|0.4|- nccl|300|1|0.6|- -|8|1|1.0|local");
}

TEST_CASE("derive: kernels have what was measured of them, and what their process had then") {
  std::string sql =
      "INSERT INTO StringTable(_id_, value) VALUES(1, 'add'), (2, 'mul');"
      "INSERT INTO METRIC(_id_, name) VALUES(1, 'ipc'), (2, 'dram__bytes_read.sum'), "
      "(3, 'l2_tex_hit_rate'), (4, 'dram_write_bytes'), (5, 'dram_read_bytes');";
  const auto operation = [&](int time, int type, int kind, int address, int bytes, int process = 7,
                             int device = 0) {
    sql +=
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(timestamp, memoryOperationType, memoryKind, "
        "poolType, address, bytes, deviceId, processId) VALUES(" +
        std::to_string(time) + ", " + std::to_string(type) + ", " + std::to_string(kind) + ", 0, " +
        std::to_string(address) + ", " + std::to_string(bytes) + ", " + std::to_string(device) +
        ", " + std::to_string(process) + ");";
  };
  constexpr int pinned = 2, of_device = 3, managed = 5;
  operation(10, 1, of_device, 0x10, 100);
  operation(20, 1, pinned, 0x20, 5000);        // the host's
  operation(20, 1, of_device, 0x30, 7, 8);     // another process's
  operation(20, 1, of_device, 0x30, 9, 7, 1);  // on another device
  operation(30, 1, managed, 0x40, 50);
  operation(40, 2, of_device, 0x99, 77);  // nobody saw it allocated
  operation(50, 2, of_device, 0x10, 100);
  operation(50, 1, of_device, 0x50, 1);
  // By cuMemCreate: it is there while it is mapped, without a handle too.
  sql +=
      "INSERT INTO API_NAME VALUES('driver', 1, 'cuMemCreate'), ('driver', 2, 'cuMemRelease'), "
      "('driver', 3, 'cuMemMap'), ('driver', 4, 'cuMemUnmap');"
      "INSERT INTO MEMORY_CALL(time, runtime, cbid, address, handle, bytes, deviceId, result, "
      "processId) VALUES(55, 0, 1, 0, 16, 1000, 0, 0, 7), (56, 0, 3, 4096, 16, 1000, 0, 0, 7), "
      "(57, 0, 2, 0, 16, NULL, 0, 0, 7), (70, 0, 4, 4096, 0, 1000, 0, 0, 7);";
  const auto kernel = [&](const char* table, int correlation, int name, int start) {
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_" + std::string(table) +
           "(correlationId, name, start, end, deviceId, processId) VALUES(" +
           std::to_string(correlation) + ", " + std::to_string(name) + ", " +
           std::to_string(start) + ", " + std::to_string(start + 3) + ", 0, 7);";
  };
  kernel("CONCURRENT_KERNEL", 1, 1, 9);
  kernel("CONCURRENT_KERNEL", 2, 1, 10);
  kernel("KERNEL", 3, 2, 45);
  kernel("CONCURRENT_KERNEL", 4, 1, 0);  // without times
  kernel("CONCURRENT_KERNEL", 5, 2, 60);
  kernel("CONCURRENT_KERNEL", 6, 2, 71);
  // Two groups of one, another kernel under its number, and a graph.
  const auto measured = [&](int range, int correlation, const char* kind, const char* name,
                            const char* values) {
    sql += "INSERT INTO METRIC_RANGE(_id_, correlationId, kind, name) VALUES(" +
           std::to_string(range) + ", " + std::to_string(correlation) + ", '" + kind + "', " +
           name + ");";
    if (*values) {
      sql += "INSERT INTO METRIC_VALUE(range, metric, value) VALUES" + std::string(values) + ";";
    }
  };
  measured(1, 2, "kernel", "1", "(1, 1, 9.5), (1, 2, 4096)");
  measured(2, 2, "kernel", "1", "(2, 3, 87.5), (2, 4, 32)");
  measured(3, 3, "kernel", "1", "(3, 2, 1)");
  measured(4, 3, "kernel", "NULL", "(4, 5, 64)");
  measured(5, 5, "graph", "NULL", "(5, 2, 1)");
  measured(6, 4, "kernel", "1", "");
  Database database = derived(sql);
  CHECK(rows(database,
             "SELECT correlation_id, name, read_bytes, written_bytes, l2_hit_rate, l1_hit_rate, "
             "allocated_bytes FROM kernel_memory ORDER BY 1") ==
        "1|add|-|-|-|-|- 2|add|4096.0|32.0|87.5|-|100 3|mul|64.0|-|-|-|150 4|add|-|-|-|-|- "
        "5|mul|-|-|-|-|1051 6|mul|-|-|-|-|51");
  // Each kernel's by index.
  CHECK(rows(database, "EXPLAIN QUERY PLAN SELECT * FROM kernel_memory WHERE correlation_id = 2")
            .find("SCAN METRIC_") == std::string::npos);
}

namespace {

std::string work(int correlation, const char* table, int begin, int end) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_" + std::string(table) +
         "(correlationId, start, end, deviceId, processId) VALUES(" + std::to_string(correlation) +
         ", " + std::to_string(begin) + ", " + std::to_string(end) + ", 0, 7);";
}

std::string call(const char* table, int cbid, int correlation, int begin, int end) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_" + std::string(table) +
         "(cbid, correlationId, start, end, processId, threadId) VALUES(" + std::to_string(cbid) +
         ", " + std::to_string(correlation) + ", " + std::to_string(begin) + ", " +
         std::to_string(end) + ", 7, 8);";
}

// Two windows, the second one never closed, and work before, in and between them.
const std::string windows =
    "INSERT INTO API_NAME VALUES('runtime', 1, 'cudaProfilerStart_v4000'), "
    "('runtime', 2, 'cudaProfilerStop_v4000'), ('runtime', 3, 'cudaLaunchKernel_v7000'), "
    "('driver', 9, 'cuProfilerStart');" +
    call("RUNTIME", 3, 1, 10, 20) + call("RUNTIME", 1, 2, 30, 40) + call("DRIVER", 9, 2, 32, 38) +
    call("RUNTIME", 3, 3, 50, 60) + call("RUNTIME", 2, 4, 70, 80) + call("RUNTIME", 3, 5, 81, 82) +
    call("RUNTIME", 1, 6, 90, 100) + work(1, "CONCURRENT_KERNEL", 45, 55) +
    work(3, "CONCURRENT_KERNEL", 100, 200) + work(3, "MEMCPY", 150, 250) +
    work(5, "CONCURRENT_KERNEL", 300, 310) + work(7, "CONCURRENT_KERNEL", 320, 321);
// Ranges called "Step 1", "step two" and "batch_17".
const std::string ranges =
    "INSERT INTO StringTable(_id_, value) VALUES(1, 'Step 1'), (2, 'step two'), (3, 'batch_17');"
    "INSERT INTO NVTX_RANGE(_id_, name, start, stop, threadId, processId) VALUES"
    "(1, 1, 10, 20, 8, 7), (2, 2, 20, 30, 8, 7), (3, 3, 30, NULL, 8, 7);";

std::string step_names(const std::string& sql) {
  Database database = derived(sql);
  return rows(database, "SELECT name FROM steps ORDER BY start");
}

std::string expression(const std::string& text) {
  return "INSERT INTO RUN VALUES('step', '" + text + "');";
}

}  // namespace

TEST_CASE("derive: steps are ranges by their names") {
  CHECK(step_names(ranges + windows) == "Step 1 batch_17");
  CHECK(step_names(ranges + windows + expression("^step")) == "step two");
  CHECK(step_names(ranges + windows + expression("[0-9]$")) == "Step 1 batch_17");
  // What is no expression can only come from somebody else.
  CHECK(step_names(ranges + windows + expression("(")) == "Step 1 batch_17");
}

TEST_CASE("derive: where no range is a step, windows of cudaProfilerStart are") {
  Database database = derived(windows);
  CHECK(rows(database,
             "SELECT name, host_ms * 1e6, gpu_busy_ms * 1e6, work, kernels, start, \"end\", "
             "range_id, thread_id FROM steps ORDER BY start") ==
        "cudaProfilerStart|30.0|150.0|2|1|40|70|-|8 cudaProfilerStart|-|1.0|1|1|100|-|-|8");
  CHECK(step_names(ranges + windows + expression("epoch")) ==
        "cudaProfilerStart cudaProfilerStart");
  CHECK(step_names("").empty());
}
