// Values of events and metrics, and PC sampling, in reports.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "libprof/report/metrics.hpp"
#include "libprof/report/report.hpp"
#include "schema/nvprof_ids.hpp"

using gpuprof::report::Layout;
using gpuprof::report::Measure;
using gpuprof::report::MeasuredKernel;
using gpuprof::report::MetricKind;
using gpuprof::report::NameStyle;
using gpuprof::report::Output;
using gpuprof::report::ReportOptions;
using gpuprof::report::Session;
using gpuprof::report::Value;
using gpuprof::report::value_text;
using gpuprof::report::ValueRow;
using gpuprof::store::Database;

namespace {

// Kernel 10 takes 100 ns, 11 takes 300 ns: fill(); 12 is in the other table: sort().
constexpr auto kernels = R"(
  CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringTable VALUES(1, 'fill'), (2, 'sort');
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(
    start INT, end INT, deviceId INT, correlationId INT, name INT,
    staticSharedMemory INT, dynamicSharedMemory INT);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, correlationId, name)
    VALUES(1000, 1100, 0, 10, 1), (2000, 2300, 0, 11, 1);
  CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(
    start INT, end INT, deviceId INT, correlationId INT, name INT,
    staticSharedMemory INT, dynamicSharedMemory INT);
  INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(3000, 3100, 0, 12, 2, 0, 0);
)";
constexpr auto events = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_EVENT(_id_ INTEGER PRIMARY KEY, id INT, value INT, domain INT,
                                         correlationId INT);
)";
constexpr auto metrics = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_METRIC(_id_ INTEGER PRIMARY KEY, id INT, value BLOB,
                                          correlationId INT, flags INT);
)";

Database memory(const std::string& sql) {
  Database database(":memory:", Database::Mode::create);
  database.execute(sql);
  return database;
}

std::string hexadecimal(const void* bytes) {
  const auto* data = static_cast<const unsigned char*>(bytes);
  std::ostringstream text;
  for (int i = 0; i < 8; ++i) text << std::hex << (data[i] >> 4) << (data[i] & 15);
  return "x'" + text.str() + "'";
}
std::string blob(double value) { return hexadecimal(&value); }
std::string blob(std::uint64_t value) { return hexadecimal(&value); }

std::string metric(int id, const std::string& value, int correlation_id, int flags = 0) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_METRIC(id, value, correlationId, flags) VALUES(" +
         std::to_string(id) + ", " + value + ", " + std::to_string(correlation_id) + ", " +
         std::to_string(flags) + ");";
}

// What is printed between "Profiling result:" and "Trace result:".
std::string values(Database& database, ReportOptions options = {}) {
  std::ostringstream out;
  options.names = NameStyle::modern;
  gpuprof::report::print_reports(database, out, options);
  const std::string text = out.str();
  const std::string begin = "======== Profiling result:\n", end = "======== Trace result:\n";
  if (!text.starts_with(begin)) return text;
  return text.substr(begin.size(), text.find(end) - begin.size());
}

std::string all(Database& database, ReportOptions options = {}) {
  std::ostringstream out;
  options.names = NameStyle::modern;
  gpuprof::report::print_reports(database, out, options);
  return out.str();
}

constexpr int achieved_occupancy = 2002, dram_read_throughput = 1107, l2_tex_hit_rate = 2143,
              l1_shared_utilization = 1163, sysmem_write_bytes = 2142;

}  // namespace

TEST_CASE("ids of metrics and events have names") {
  using gpuprof::schema::nvprof_event;
  using gpuprof::schema::nvprof_metric;
  REQUIRE(nvprof_metric(1001));
  CHECK(nvprof_metric(1001)->name == "l1_cache_global_hit_rate");
  CHECK(nvprof_metric(achieved_occupancy)->kind == MetricKind::real);
  CHECK(nvprof_metric(2754) == nullptr);
  CHECK(nvprof_metric(-1) == nullptr);
  CHECK(nvprof_event(0) == "local_load");
  CHECK(nvprof_event(2754) == "gred_count");
  CHECK_FALSE(nvprof_event(12345678).has_value());
  // Found by bisection: every one must be reached, and nothing else.
  std::set<std::int64_t> metrics, events;
  for (const auto& metric : gpuprof::schema::nvprof_metric_ids) metrics.insert(metric.id);
  for (const auto& event : gpuprof::schema::nvprof_event_ids) events.insert(event.id);
  CHECK(metrics.size() == 912);
  CHECK(events.size() == 236);
  for (const auto& ids : {metrics, events}) {
    for (const std::int64_t listed : ids) {
      for (const std::int64_t id : {listed - 1, listed, listed + 1}) {
        CHECK((nvprof_metric(id) != nullptr) == metrics.contains(id));
        CHECK(nvprof_event(id).has_value() == events.contains(id));
      }
    }
  }
  CHECK(Measure{.is_metric = true, .id = 7}.name() == "<metric 7>");
  CHECK(Measure{.is_metric = false, .id = 12345678}.name() == "<event 12345678>");
}

TEST_CASE("values print by their kind") {
  const auto text = [](MetricKind kind, Value value) {
    return value_text(kind, value, false, "-");
  };
  const auto csv = [](MetricKind kind, Value value) { return value_text(kind, value, true, ""); };
  CHECK(text(MetricKind::real, 0.5) == "0.500000");
  CHECK(text(MetricKind::percent, 44.3) == "44.30%");
  CHECK(csv(MetricKind::percent, 43.3) == "43.300000%");
  CHECK(text(MetricKind::real, 1234.5) == "1.2345e+03");
  CHECK(csv(MetricKind::real, 1234.5) == "1234.500000");
  CHECK(text(MetricKind::count, std::uint64_t{9999999999}) == "9999999999");
  CHECK(text(MetricKind::count, std::uint64_t{18446744073709551614u}) == "1.8447e+19");
  CHECK(csv(MetricKind::count, std::uint64_t{18446744073709551614u}) == "18446744073709551614");
  CHECK(text(MetricKind::throughput, std::uint64_t{0}) == "0.00000B/s");
  CHECK(text(MetricKind::throughput, std::uint64_t{135802467911}) == "126.48GB/s");
  CHECK(csv(MetricKind::throughput, std::uint64_t{135802467911}) == "126.475904GB/s");
  CHECK(text(MetricKind::utilization, std::uint64_t{0}) == "Idle (0)");
  CHECK(text(MetricKind::utilization, std::uint64_t{3}) == "Low (3)");
  CHECK(text(MetricKind::utilization, std::uint64_t{4}) == "Mid (4)");
  CHECK(text(MetricKind::utilization, std::uint64_t{9}) == "High (9)");
  CHECK(text(MetricKind::utilization, std::uint64_t{10}) == "Max (10)");
  CHECK(text(MetricKind::unknown, {}) == "-");
  CHECK(csv(MetricKind::unknown, {}).empty());
}

TEST_CASE("values are summed up by device, kernel and id") {
  Database database = memory(
      std::string(kernels) + events + metrics +
      "INSERT INTO CUPTI_ACTIVITY_KIND_EVENT VALUES(1, 2, 5, 0, 10), (2, 2, 8, 0, 11), "
      "(3, 1, 7, 0, 12);" +
      metric(achieved_occupancy, blob(0.25), 10) + metric(achieved_occupancy, blob(0.5), 11));
  CHECK(values(database) ==
        R"(======== Event result:
Invocations                                Event Name         Min         Max         Avg       Total
Device "0"
    Kernel: fill
          2                               gld_request           5           8           6          13
    Kernel: sort
          1                               local_store           7           7           7           7

======== Metric result:
Invocations                               Metric Name                        Metric Description         Min         Max         Avg
Device "0"
    Kernel: fill
          2                        achieved_occupancy                        Achieved Occupancy    0.250000    0.500000    0.375000
)");
  CHECK(values(database, {.layout = Layout::csv}) ==
        R"(======== Event result:
"Device","Kernel","Invocations","Event Name","Min","Max","Avg","Total"
"0","fill",2,"gld_request",5,8,6,13
"0","sort",1,"local_store",7,7,7,7

======== Metric result:
"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"
"0","fill",2,"achieved_occupancy","Achieved Occupancy",0.250000,0.500000,0.375000
)");
}

TEST_CASE("a mean throughput is weighted by time") {
  Database database = memory(std::string(kernels) + metrics +
                             metric(dram_read_throughput, blob(std::uint64_t{100}), 10) +
                             metric(dram_read_throughput, blob(std::uint64_t{200}), 11));
  const std::string text = values(database, {.layout = Layout::csv});
  // 100 ns and 300 ns.
  CHECK(text.find("100.000000B/s,200.000000B/s,175.000000B/s\n") != std::string::npos);
}

TEST_CASE("values that overflowed or are invalid are left out, with a warning") {
  Database database =
      memory(std::string(kernels) + events + metrics +
             "INSERT INTO CUPTI_ACTIVITY_KIND_EVENT VALUES(1, 2, -1, 0, 10);" +
             metric(achieved_occupancy, blob(0.25), 10) +
             metric(achieved_occupancy, blob(9.0), 11, 2) + metric(1107, blob(7.0), 11, 1));
  CHECK(values(database, {.layout = Layout::csv}) ==
        R"(======== Metric result:
"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"
"0","fill",1,"achieved_occupancy","Achieved Occupancy",0.250000,0.250000,0.250000
======== Warning: One or more events or metrics overflowed. Rerun with "--print-gpu-trace" for detail.
======== Warning: One or more events or metrics can't be profiled. Rerun with "--print-gpu-trace" for detail.
)");
}

TEST_CASE("values without a kernel, with an unknown id or of a wrong size are told") {
  Database database =
      memory(std::string(kernels) + metrics + metric(achieved_occupancy, blob(0.25), 77) +
             metric(achieved_occupancy, blob(0.25), 9) + metric(7, blob(0.25), 10) +
             metric(achieved_occupancy, "x'00'", 10));
  const std::string text = all(database, {.layout = Layout::csv});
  CHECK(text.find("\"0\",\"fill\",1,\"<metric 7>\",\"\",,,\n") != std::string::npos);
  CHECK(text.find("======== Warning: Some events/metrics can't be associated with any kernel.\n") !=
        std::string::npos);
  CHECK(text.find("1 record skipped: CUPTI_ACTIVITY_KIND_METRIC with a value that is not of 8 "
                  "bytes.\n") != std::string::npos);
}

TEST_CASE("what the trace reads twice is reported once") {
  Database database =
      memory(std::string(kernels) + metrics + metric(achieved_occupancy, blob(0.25), 10) +
             metric(achieved_occupancy, "x'00'", 11));
  CHECK(all(database, {.chosen = {"print-gpu-trace"}}).find("1 record skipped: ") !=
        std::string::npos);
}

TEST_CASE("instances of a measure share a line with their means") {
  Database database = memory(std::string(kernels) + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_EVENT_INSTANCE(id INT, domain INT, instance INT, value INT,
                                                    correlationId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_EVENT_INSTANCE
      VALUES(3, 0, 1, 11, 10), (3, 0, 0, 2, 10), (3, 0, 0, 4, 11);
  )");
  CHECK(values(database) ==
        R"(======== Event result:
Invocations                                Event Name         Min         Max         Avg       Total
Device "0"
    Kernel: fill
          2                 gst_request (2 instances)           -           -  [          3         11 ]           -
)");
  CHECK(values(database, {.layout = Layout::csv})
            .find("\"0\",\"fill\",2,\"gst_request (2 instances)\",,,\"3,11\",\n") !=
        std::string::npos);
}

TEST_CASE("columns grow with their names") {
  Database database =
      memory(std::string(kernels) + metrics + metric(2118, blob(std::uint64_t{3}), 10));
  const auto* found = gpuprof::schema::nvprof_metric(2118);
  REQUIRE(found);
  REQUIRE(found->description.size() > 40);
  std::istringstream lines(values(database));
  std::string heading, line;
  std::getline(lines, heading);
  std::getline(lines, heading);
  while (std::getline(lines, line) && line.find(found->description) == std::string::npos) {
  }
  CHECK(heading.size() == 11 + 2 + 40 + 2 + found->description.size() + 1 + 3 * (2 + 10));
  CHECK(line.size() == heading.size());
}

TEST_CASE("values at a point in time belong to the device") {
  Database database = memory(std::string(kernels) + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT(id INT, value INT, timestamp INT,
                                                         deviceId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT VALUES(2, 5, 1, 0), (2, 7, 2, 0);
  )");
  CHECK_THAT(values(database), Catch::EndsWith(R"(No API activities were profiled.
======== Event result:
Invocations                                Event Name         Min         Max         Avg       Total
Device "0"
          2                               gld_request           5           7           6          12
)"));
  const std::string trace = all(database, {.chosen = {"print-gpu-trace"}});
  CHECK_THAT(trace,
             Catch::Contains("       5                                         -  gld_request\n"));
  CHECK_THAT(trace, Catch::Contains("sort [12]\n"));
}

TEST_CASE("kernels and values are matched in one pass, whatever their order") {
  std::mt19937 random(7);
  const auto number = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  Database database = memory(R"(
    CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, correlationId INT,
                                            name INT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start INT, end INT, deviceId INT,
                                                       correlationId INT, name INT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_EVENT(id INT, value INT, correlationId INT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_EVENT_INSTANCE(id INT, value INT, instance INT,
                                                    correlationId INT);
  )");
  const std::int64_t big = std::int64_t{1} << 40;  // correlation ids of several processes
  for (int i = 0; i < 300; ++i) {
    database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_" +
                     std::string(i % 2 ? "KERNEL" : "CONCURRENT_KERNEL") + " VALUES(1, 2, " +
                     std::to_string(number(1)) + ", " + std::to_string(big * number(1) + i) + ", " +
                     std::to_string(number(4)) + ")");
  }
  for (int i = 0; i < 1000; ++i) {
    const std::string id = std::to_string(big * number(1) + number(350));
    database.execute(i % 3 ? "INSERT INTO CUPTI_ACTIVITY_KIND_EVENT VALUES(2, 1, " + id + ")"
                           : "INSERT INTO CUPTI_ACTIVITY_KIND_EVENT_INSTANCE VALUES(2, 1, 0, " +
                                 id + ")");
  }
  std::map<std::pair<std::int64_t, std::int64_t>, int> expected, found;
  auto rows = database.prepare(R"(
    WITH k AS (SELECT correlationId c, deviceId d, name n FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL
               SELECT correlationId, deviceId, name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
         v AS (SELECT correlationId c FROM CUPTI_ACTIVITY_KIND_EVENT UNION ALL
               SELECT correlationId FROM CUPTI_ACTIVITY_KIND_EVENT_INSTANCE)
    SELECT d, n, count(*) FROM k JOIN v USING(c) GROUP BY d, n)");
  int matched = 0;
  while (rows.step()) {
    expected[{rows.integer(0), rows.integer(1)}] = static_cast<int>(rows.integer(2));
    matched += static_cast<int>(rows.integer(2));
  }
  const ReportOptions options;
  std::ostringstream out;
  Output output(out, options);
  Session session(database, options, output, NameStyle::modern);
  const auto without = gpuprof::report::read_kernel_values(
      session, [&](const MeasuredKernel& kernel, const ValueRow&) {
        ++found[{kernel.device, kernel.name}];
      });
  CHECK(found == expected);
  CHECK(without == 1000 - matched);
  CHECK(matched > 100);
}

TEST_CASE("other traces become summaries; the GPU trace has a column per measure") {
  const std::string tables = std::string(kernels) + events + metrics + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(cbid INT, start INT, end INT, correlationId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(20, 100, 300, 10);
    INSERT INTO CUPTI_ACTIVITY_KIND_EVENT VALUES(1, 2, 5, 0, 10), (2, 2, -1, 0, 11);
  )" + metric(l2_tex_hit_rate, blob(12.5), 10) +
                             metric(dram_read_throughput, blob(std::uint64_t{1} << 31), 10) +
                             metric(l1_shared_utilization, blob(std::uint64_t{4}), 10) +
                             metric(sysmem_write_bytes, blob(std::uint64_t{1}), 11, 2);
  const bool indexed = GENERATE(false, true);
  Database database =
      memory(tables + (indexed ? "CREATE INDEX a ON CUPTI_ACTIVITY_KIND_EVENT(correlationId);"
                                 "CREATE INDEX b ON CUPTI_ACTIVITY_KIND_METRIC(correlationId);"
                               : ""));
  CHECK(all(database, {.chosen = {"print-api-trace"}}) == all(database));
  // Twice: what it made for itself is gone.
  for (int i = 0; i < 2; ++i) {
    CHECK(all(database, {.chosen = {"print-gpu-trace"}}) ==
          R"(======== Profiling result:
         Device   Context    Stream                Kernel  gld_request  dram_read_throughput  l1_shared_utilization  sysmem_write_bytes  l2_tex_hit_rate
                                                                                        GB/s                                                           %
              0         0         0                  fill            5              2.000000                Mid (4)                   -            12.50
              0         0         0                  fill   <OVERFLOW>                     -                      -           <INVALID>                -
)");
  }
  const ReportOptions csv{.chosen = {"print-gpu-trace"}, .layout = Layout::csv};
  CHECK(all(database, csv) == R"csv(======== Profiling result:
"Device","Context","Stream","Kernel","Correlation_ID","gld_request","dram_read_throughput","l1_shared_utilization","sysmem_write_bytes","l2_tex_hit_rate"
,,,,,,GB/s,,,%
"0","0","0","fill",10,5,2.000000,"Mid (4)",,12.500000
"0","0","0","fill",11,"<OVERFLOW>",,,"<INVALID>",
)csv");
  const std::string both = all(database, {.chosen = {"print-gpu-trace", "print-api-trace"}});
  CHECK(both.find("cudaMalloc (fill [10  ") != std::string::npos);
  CHECK(both.find("sort") != std::string::npos);  // has no values, but is a kernel
  CHECK(both.find("SSMem: Static") != std::string::npos);
}

TEST_CASE("a filter of kernels leaves values of other kernels out, without a warning") {
  Database database =
      memory(std::string(kernels) + events +
             "INSERT INTO CUPTI_ACTIVITY_KIND_EVENT VALUES(1, 2, 5, 0, 10), (2, 2, 8, 0, 12);");
  ReportOptions options{.layout = Layout::csv};
  options.filter.kernels = "sor";
  CHECK(values(database, options) ==
        R"(======== Event result:
"Device","Kernel","Invocations","Event Name","Min","Max","Avg","Total"
"0","sort",1,"gld_request",8,8,8,8
)");
}

TEST_CASE("PC samples are listed by launch and address") {
  Database database = memory(std::string(kernels) + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_PC_SAMPLING(correlationId INT, latencySamples INT, samples INT,
                                                 stallReason INT, pcOffset INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING
      VALUES(11, 2, 10, 4, 16), (10, 3, 20, 4, 32), (10, 0, 10, 1, 32), (12, 0, 5, 99, 0),
            (77, 0, 6, 1, 0);
    CREATE TABLE CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO(correlationId INT, droppedSamples INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO VALUES(10, 3), (11, 4);
  )");
  const std::string text = all(database, {.chosen = {"print-api-summary"}, .layout = Layout::csv});
  CHECK(text.substr(text.find("======== PC")) == R"csv(======== PC SAMPLING SUMMARY:
fill
"PC","INVALID","NONE","INST_FETCH","EXEC_DEP","MEM_DEP","TEXTURE","SYNC","CONST_MEM_DEP","PIPE_BUSY","MEM_THROTTLE","NOT_SEL","OTHER","SLEEPING","TOTAL"
"0x20",0,10,0,0,20,0,0,0,0,0,0,0,0,30
"Total",0,10,0,0,20,0,0,0,0,0,0,0,0,30
Total Samples: 33
Dropped Samples: 3
fill
"PC","INVALID","NONE","INST_FETCH","EXEC_DEP","MEM_DEP","TEXTURE","SYNC","CONST_MEM_DEP","PIPE_BUSY","MEM_THROTTLE","NOT_SEL","OTHER","SLEEPING","TOTAL"
"0x10",0,0,0,0,10,0,0,0,0,0,0,0,0,10
"Total",0,0,0,0,10,0,0,0,0,0,0,0,0,10
Total Samples: 14
Dropped Samples: 4
sort
"PC","INVALID","NONE","INST_FETCH","EXEC_DEP","MEM_DEP","TEXTURE","SYNC","CONST_MEM_DEP","PIPE_BUSY","MEM_THROTTLE","NOT_SEL","OTHER","SLEEPING","TOTAL"
"0x0",0,0,0,0,0,0,0,0,0,0,0,0,0,0
"Total",0,0,0,0,0,0,0,0,0,0,0,0,0,0
Total Samples: 0
Dropped Samples: 0
======== Warning: 6 PC samples can't be associated with a kernel.
======== Warning: 5 PC samples have a stall reason that is not known.
)csv");
}
