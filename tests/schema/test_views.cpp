// The views on a small database.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>

#include "schema/activity/all.hpp"
#include "schema/traits.hpp"
#include "tests/schema/database_fixture.hpp"

namespace schema = gpuprof::schema;

namespace {

// Kernel `id`: its times and correlation id; the rest does not matter.
std::string kernel(const char* table, int id, const char* name, int start, int end,
                   const char* correlation) {
  return std::string("INSERT INTO CUPTI_ACTIVITY_KIND_") + table +
         "(_id_, name, start, \"end\", correlationId, gridX, gridY, gridZ, blockX, blockY, blockZ, "
         "launchType, deviceId, contextId, streamId, graphId, processId) VALUES(" +
         std::to_string(id) + ", " + name + ", " + std::to_string(start) + ", " +
         std::to_string(end) + ", " + correlation + ", 2, 3, 4, 32, 2, 1, 0, 0, 1, 7, 0, 42)";
}

struct Filled : Database {
  Filled() {
    enum_names();
    run("INSERT INTO StringTable(_id_, value, demangled, short) VALUES(0, '-- null --', NULL, "
        "NULL),"
        "(1, '_Z4gemmIfEvPT_', 'void gemm<float>(float*)', 'gemm'), (2, 'plain', NULL, NULL),"
        "(3, 'step', NULL, NULL), (4, 'NVIDIA H200', NULL, NULL), (5, 'libtorch.so', NULL, NULL)");
    run("INSERT INTO API_NAME VALUES('runtime', 211, 'cudaLaunchKernel_v7000'),"
        "('runtime', 31, 'cudaMemcpy_v3020'), ('driver', 652, 'cuLaunchKernelEx_ptsz'),"
        "('runtime', 500, '__cudaGetKernel_v11000')");
  }
};

}  // namespace

TEST_CASE("kernels: names, shapes, both tables") {
  Filled db;
  db.run(kernel("CONCURRENT_KERNEL", 1, "1", 100, 150, "9"));
  db.run(kernel("CONCURRENT_KERNEL", 2, "1", 200, 230, "10"));
  db.run(kernel("KERNEL", 1, "2", 300, 310, "11"));
  CHECK(db.line("SELECT name, count(*), sum(duration) FROM kernels GROUP BY name ORDER BY 3 DESC "
                "LIMIT 10") == "void gemm<float>(float*)|2|80");
  CHECK(db.line("SELECT short_name, mangled_name, grid, block, blocks, threads, launch_type, "
                "process_id FROM kernels WHERE correlation_id = 9") ==
        "gemm|_Z4gemmIfEvPT_|(2,3,4)|(32,2,1)|24|1536|regular|42");
  CHECK(db.line("SELECT name, short_name, mangled_name, end - start FROM kernels "
                "WHERE correlation_id = 11") == "plain|plain|plain|10");
}

TEST_CASE("kernels: shapes are looked up where they are asked for") {
  Filled db;
  const auto looks = [&](const std::string& question) {
    for (const auto& row : db.rows("EXPLAIN QUERY PLAN " + question)) {
      if (row.back().find("SEARCH o ") != std::string::npos ||
          row.back().find("SEARCH LAUNCH_SHAPE AS o ") != std::string::npos) {
        return true;
      }
    }
    return false;
  };
  CHECK(looks("SELECT max(waves) FROM kernels"));
  CHECK_FALSE(looks("SELECT count(*), sum(duration) FROM kernels"));
  CHECK_FALSE(looks("SELECT name, sum(duration) FROM kernels GROUP BY 1"));
}

TEST_CASE("kernels: times that were not collected make no durations") {
  Filled db;
  db.run(kernel("CONCURRENT_KERNEL", 1, "1", 0, 0, "9"));
  CHECK(db.line("SELECT count(*), count(duration), sum(duration) FROM kernels") == "1|0|NULL");
}

TEST_CASE("memcpys: kinds, throughput, copies between devices") {
  Filled db;
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(copyKind, srcKind, dstKind, flags, bytes, start, "
      "\"end\", deviceId, correlationId) VALUES(1, 2, 3, 1, 1000, 100, 200, 0, 5),"
      "(99, 0, 3, 0, 1000, 100, 100, 0, 6)");
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2(copyKind, srcKind, dstKind, flags, bytes, start, "
      "\"end\", deviceId, correlationId, srcDeviceId, dstDeviceId) "
      "VALUES(10, 3, 3, 0, 8000000000, 1, 1000000001, 0, 7, 0, 1)");
  CHECK(db.line("SELECT kind, src_memory, dst_memory, is_async, throughput, src_device_id "
                "FROM memcpys WHERE correlation_id = 5") ==
        "HtoD|Pinned|Device|1|10000000000|NULL");
  CHECK(db.line("SELECT kind, throughput, duration FROM memcpys WHERE correlation_id = 6") ==
        "99|NULL|0");
  CHECK(db.line("SELECT kind, throughput, typeof(throughput), src_device_id, dst_device_id "
                "FROM memcpys WHERE correlation_id = 7") == "PtoP|8000000000|integer|0|1");
}

TEST_CASE("gpu_activities: all of it in one shape") {
  Filled db;
  db.run(kernel("CONCURRENT_KERNEL", 1, "1", 100, 150, "9"));
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(copyKind, bytes, start, \"end\") "
      "VALUES(2, 10, 50, 60)");
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET(value, bytes, start, \"end\", memoryKind) "
      "VALUES(0, 20, 70, 80, 3)");
  const auto rows =
      db.rows("SELECT type, name, duration, bytes FROM gpu_activities ORDER BY start");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0] == std::vector<std::string>{"memcpy", "[CUDA memcpy DtoH]", "10", "10"});
  CHECK(rows[1] == std::vector<std::string>{"memset", "[CUDA memset]", "10", "20"});
  CHECK(rows[2] == std::vector<std::string>{"kernel", "void gemm<float>(float*)", "50", "NULL"});
  CHECK(db.line("SELECT memory FROM memsets") == "Device");
}

TEST_CASE("api_calls: names without suffixes, also where there is none") {
  Filled db;
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, \"end\", correlationId, processId, "
      "threadId, returnValue) VALUES(211, 10, 20, 9, 42, 43, 0), (500, 30, 31, 10, 42, 43, 0),"
      "(777, 40, 41, 11, 42, 43, 2)");
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER(cbid, start, \"end\", correlationId) "
      "VALUES(652, 12, 18, 9)");
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API(cbid, start, \"end\") "
      "VALUES(1, 50, 60)");
  CHECK(db.column("SELECT name FROM api_calls ORDER BY start") ==
        std::vector<std::string>{"cudaLaunchKernel", "cuLaunchKernelEx", "__cudaGetKernel",
                                 "runtime function 777", "internal launch"});
  CHECK(db.line("SELECT domain, duration, thread_id, process_id, return_value FROM api_calls "
                "WHERE correlation_id = 11") == "runtime|1|43|42|2");
}

TEST_CASE("launches: the runtime call, else the driver's, else none") {
  Filled db;
  db.run(kernel("CONCURRENT_KERNEL", 1, "1", 100, 150, "9"));
  db.run(kernel("CONCURRENT_KERNEL", 2, "1", 200, 250, "10"));
  db.run(kernel("CONCURRENT_KERNEL", 3, "1", 300, 350, "0"));
  db.run(kernel("CONCURRENT_KERNEL", 4, "1", 0, 0, "9"));
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, \"end\", correlationId, threadId) "
      "VALUES(211, 80, 90, 9, 43), (31, 1, 2, 0, 43)");
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER(cbid, start, \"end\", correlationId, threadId) "
      "VALUES(652, 82, 88, 9, 43), (652, 195, 205, 10, 44)");
  const std::string columns =
      "SELECT api_domain, api_name, api_duration, launch_latency, queue_delay, thread_id "
      "FROM launches WHERE ";
  CHECK(db.line("SELECT count(*) FROM launches") == "4");
  CHECK(db.line(columns + "start = 100") == "runtime|cudaLaunchKernel|10|20|10|43");
  CHECK(db.line(columns + "start = 200") == "driver|cuLaunchKernelEx|10|5|-5|44");
  CHECK(db.line(columns + "start = 300") == "NULL|NULL|NULL|NULL|NULL|NULL");
  CHECK(db.line(columns + "start IS NULL") == "runtime|cudaLaunchKernel|10|NULL|NULL|43");
}

TEST_CASE("times that are not known are NULL") {
  Filled db;
  db.run(kernel("CONCURRENT_KERNEL", 1, "1", 0, 0, "9"));
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, \"end\", correlationId) "
      "VALUES(211, 0, 0, 9)");
  CHECK(db.line("SELECT start, \"end\", duration, queued, submitted FROM kernels") ==
        "NULL|NULL|NULL|NULL|NULL");
  CHECK(db.line("SELECT start, \"end\", duration FROM gpu_activities") == "NULL|NULL|NULL");
  CHECK(db.line("SELECT start, \"end\", duration FROM api_calls") == "NULL|NULL|NULL");
  CHECK(db.line("SELECT start, api_start, launch_latency, queue_delay, start - api_start "
                "FROM launches") == "NULL|NULL|NULL|NULL|NULL");
}

TEST_CASE("gpu_activities: graphs as a whole, and decompression") {
  Filled db;
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, \"end\", deviceId, graphId) "
      "VALUES(10, 30, 1, 5)");
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS(start, stop, deviceId, sourceBytes) "
      "VALUES(40, 45, 2, 1000)");
  CHECK(db.line("SELECT name, start, duration, device_id, graph_id, bytes FROM gpu_activities "
                "WHERE type = 'graph'") == "[CUDA graph]|10|20|1|5|NULL");
  CHECK(db.line("SELECT name, start, duration, device_id, graph_id, bytes FROM gpu_activities "
                "WHERE type = 'decompress'") == "[CUDA memory decompression]|40|5|2|0|1000");
}

TEST_CASE("what has times on a device, in a group of GPU work, counts as that everywhere") {
  // Other rows already stand for these: the graph's, or those of its kernels.
  const std::set<std::string_view> told_elsewhere{"DEVICE_GRAPH_TRACE"};
  std::set<std::string_view> listed;
  for (const schema::GpuKind& work : schema::gpu_kinds) listed.insert(work.kind);
  for (const schema::KindRef& kind : schema::kinds) {
    using schema::Group;
    const Group group = kind.info->group;
    if (group != Group::gpu && group != Group::serial && group != Group::graph) continue;
    const bool timed =
        schema::has_column(*kind.table, "start") &&
        (schema::has_column(*kind.table, "end") || schema::has_column(*kind.table, "stop")) &&
        schema::has_column(*kind.table, "deviceId");
    const std::string_view name = kind.table->name.substr(std::strlen("CUPTI_ACTIVITY_KIND_"));
    INFO(name);
    CHECK((timed && !told_elsewhere.contains(name)) == listed.contains(name));
  }
  // Each of the list, but for what CUPTI no longer delivers, is a row of the view.
  for (const schema::GpuKind& work : schema::gpu_kinds) {
    if (work.stays_empty) continue;
    INFO(work.kind);
    Filled db;
    db.run("INSERT INTO CUPTI_ACTIVITY_KIND_" + std::string(work.kind) + "(start, \"" +
           std::string(work.end) + "\", deviceId) VALUES(10, 30, 1)");
    CHECK(db.line("SELECT type, start, \"end\" FROM gpu_activities") ==
          std::string(work.type) + "|10|30");
  }
}

TEST_CASE("traits name columns and enums that are there") {
  for (const schema::GpuKind& work : schema::gpu_kinds) {
    INFO(work.kind);
    for (const std::string_view column : {work.named_by, work.bytes, work.end, {"start"}}) {
      INFO(column);
      CHECK((column.empty() || schema::has_column(*work.table, column)));
    }
    CHECK(work.named.empty() == (work.name.find('*') == work.name.npos));
    CHECK((work.named.empty() || !schema::enum_name(work.named, 1).empty()));
    CHECK(work.name.empty() == work.is_kernel());
  }
  CHECK(schema::api_kinds.size() == 3);
  CHECK(schema::api_kinds[0].kind == "RUNTIME");  // as reports list them
}

TEST_CASE("a kind of GPU work is in gpu_activities by its trait, with the columns that it has") {
  Database db;
  db.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_NEW(start INT, stop INT, direction INT, deviceId INT, "
      "contextId INT, streamId INT, correlationId INT, graphId INT, processId INT)");
  db.run("INSERT INTO CUPTI_ACTIVITY_KIND_NEW VALUES(1, 2, 3, 4, 5, 6, 7, 8, 9)");
  using enum schema::Type;
  static constexpr schema::Column columns[]{
      schema::stored("deviceId", u32, ""), schema::stored("contextId", u32, ""),
      schema::stored("streamId", u32, ""), schema::stored("correlationId", u32, ""),
      schema::stored("graphId", u32, "")};
  const schema::Table table{
      .name = "CUPTI_ACTIVITY_KIND_NEW", .doc = "", .columns = columns, .origin = {}};
  const schema::GpuKind kind{{.type = "new",
                              .named_by = "direction",
                              .named = "CUpti_ActivityMemcpyKind",
                              .name = "[new * thing]"},
                             "NEW",
                             "stop",
                             false,
                             false,
                             &table};
  CHECK(db.line("SELECT type, string, before, named, number, behind, start, stop, bytes, deviceId, "
                "contextId, streamId, correlationId, graphId, graphNodeId, processId FROM (" +
                schema::detail::select_gpu_work(kind, true) + ")") ==
        "new|NULL|[new |CUpti_ActivityMemcpyKind|3| thing]|1|2|NULL|4|5|6|7|8|0|9");
}

TEST_CASE("nvtx_ranges: names, and ranges that were never closed") {
  Filled db;
  db.run(
      "INSERT INTO NVTX_RANGE(_id_, processId, threadId, domain, name, start, stop, depth, "
      "parent, kind) VALUES(1, 42, 43, 0, 3, 10, 30, 0, NULL, 'push_pop'),"
      "(2, 42, 43, 5, 0, 15, NULL, 1, 1, 'push_pop')");
  CHECK(db.line("SELECT name, domain, duration, depth, parent FROM nvtx_ranges WHERE id = 1") ==
        "step|NULL|20|0|NULL");
  CHECK(db.line("SELECT name, domain, duration, depth, parent FROM nvtx_ranges WHERE id = 2") ==
        "NULL|libtorch.so|NULL|1|1");
}

TEST_CASE("synchronizations and allocations: kinds as text, none as NULL") {
  Filled db;
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(type, start, \"end\", streamId, "
      "cudaEventId, processId) VALUES(4, 10, 15, 4294967295, 4294967295, 42)");
  CHECK(db.line("SELECT type, duration, stream_id, event_id, process_id FROM synchronizations") ==
        "context synchronize|5|NULL|NULL|42");
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(memoryOperationType, memoryKind, bytes, name, "
      "source, poolType, poolAddress, timestamp) VALUES(1, 3, 4096, 0, 5, 0, 0, 77)");
  CHECK(db.line("SELECT operation, memory, bytes, time, variable, source, pool_type, pool_address "
                "FROM allocations") == "allocation|Device|4096|77|NULL|libtorch.so|NULL|NULL");
}

TEST_CASE("devices and processes") {
  Filled db;
  db.run(
      "INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE(id, name, computeCapabilityMajor, "
      "computeCapabilityMinor, numMultiprocessors, uuid, coreClockRate, "
      "globalMemoryBandwidth, maxWarpsPerMultiprocessor, numThreadsPerWarp) "
      "VALUES(0, 4, 9, 0, 132, X'000102030405060708090A0B0C0D0E0F', 1980000, 4814000000, 64, "
      "32)");
  CHECK(db.line("SELECT name, compute_capability, uuid, core_clock, memory_bandwidth, "
                "max_threads_per_multiprocessor FROM devices") ==
        "NVIDIA H200|9.0|GPU-00010203-0405-0607-0809-0a0b0c0d0e0f|1980000000|4814000000000|2048");
  db.run("INSERT INTO PROCESS(processId, number, goodbye) VALUES(42, 0, 1)");
  db.run(
      "INSERT INTO CLOCK(processId, moment, realtime) "
      "VALUES(42, 'first', 1000), (42, 'last', 3000)");
  CHECK(db.line("SELECT process_id, goodbye, first_realtime, last_realtime FROM processes") ==
        "42|1|1000|3000");
}

TEST_CASE("losses: what matters, and only when there is any") {
  Filled db;
  db.run("INSERT INTO STATISTIC_DOC VALUES('records_dropped_by_cupti', 'data_loss', 'help')");
  db.run(
      "INSERT INTO STATISTIC VALUES(42, '', 'records_dropped_by_cupti', 3, 'data_loss'),"
      "(43, '', 'records_dropped_by_cupti', 0, 'data_loss'),"
      "(42, '', 'records_received', 100, 'info'), (42, '', 'records_salvaged', 4, 'notice')");
  CHECK(db.rows("SELECT name FROM losses").size() == 1);
  CHECK(db.line("SELECT process_id, name, value, severity, help FROM losses") ==
        "42|records_dropped_by_cupti|3|data_loss|help");
}
