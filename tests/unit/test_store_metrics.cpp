// Frames about metrics -> tables, views and reports.
#include <catch2/catch.hpp>
#include <limits>
#include <optional>
#include <sstream>

#include "libprof/exchange/export/excerpt.hpp"
#include "libprof/metrics/value_rows.hpp"
#include "libprof/read/rescue.hpp"
#include "libprof/report/report.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/measures.hpp"
#include "schema/nvprof_ids.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using report::Layout;
using store::Database;
using test::BatchBuilder;
using test::make_loader;
using test::rows;
using wire::MeasuredRange;
using wire::RangeKind;

namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::uint32_t occupancy = 1, throughput = 2, cycles = 3, hit_rate = 4, event = 5;

wire::MetricInfo metric(const std::string& name, const std::string& unit = "",
                        const std::string& description = "", std::optional<std::int32_t> id = {},
                        bool is_event = false) {
  return {.name = name,
          .unit = unit,
          .description = description,
          .formula = "of " + name,
          .nvprof_id = static_cast<std::uint32_t>(id.value_or(0)),
          .nvprof_kind = 0,
          .is_event = is_event};
}

wire::MetricsInfo metrics_info() {
  wire::MetricsInfo info;
  info.metrics = {
      metric("achieved_occupancy", "", "Warps in flight",
             schema::nvprof_metric_id("achieved_occupancy")),
      metric("dram_read_throughput", "bytes/s", "",
             schema::nvprof_metric_id("dram_read_throughput")),
      metric("sm__cycles_active.avg", "cycle", "Cycles at work"),
      metric("lts__hit_rate.pct", "%", "Hits"),
      metric("warps_launched", "", "", schema::nvprof_event_id("warps_launched"), true)};
  info.groups = {{.id = 1,
                  .chip = "GH100",
                  .mode = "application",
                  .scope = "",
                  .cost_class = "outside the SM",
                  .passes = 1,
                  .expected_us = 45,
                  .metrics = {throughput, hit_rate},
                  .counters = {"dram__bytes_read.sum.per_second", "lts__hit_rate.pct"}}};
  return info;
}

wire::Frame metrics_frame(const wire::MetricsInfo& info = metrics_info()) {
  wire::Encoder encoder;
  encode(encoder, info);
  return test::frame_of(wire::FrameType::metrics, wire::run_stream, encoder);
}

MeasuredRange kernel(std::uint32_t correlation, std::uint64_t ordinal) {
  return {.ordinal = ordinal,
          .correlation = correlation,
          .name = 1,
          .stream = 7,
          .grid = {8, 1, 1},
          .block = {32, 2, 1}};
}

metrics::MeasuredValues values_of(const std::vector<MeasuredRange>& ranges,
                                  const std::vector<std::uint32_t>& metrics,
                                  const std::vector<double>& values) {
  metrics::MeasuredValues result;
  result.group = 1;
  result.context = 1;
  result.device = 0;
  result.ranges = ranges;
  result.names = {"_ZN2ns3addEPfi", "step"};
  result.notes = {"left out: cooperative"};
  result.metrics = metrics;
  result.values = values;
  return result;
}

// What the evaluation knows of the metrics above.
std::vector<metrics::Metric> known_metrics() {
  std::vector<metrics::Metric> known;
  for (const wire::MetricInfo& info : metrics_info().metrics) {
    metrics::Metric& metric = known.emplace_back();
    metric.name = info.name;
    if (info.nvprof_id != 0) metric.nvprof_id = static_cast<std::int32_t>(info.nvprof_id);
    if (info.is_event) {
      metric.origin = metrics::Metric::Origin::nvprof_event;
      metric.kind = schema::MetricKind::count;
    } else if (const auto* nvprof = schema::nvprof_metric(info.nvprof_id)) {
      metric.kind = nvprof->kind;
    }
  }
  return known;
}

// As the launcher makes them of one run.
class Values {
 public:
  // One frame: the values are few.
  wire::Frame frame(std::uint32_t stream, const metrics::MeasuredValues& values) {
    std::vector<const metrics::Metric*> of_values;
    for (const std::uint32_t metric : values.metrics) of_values.push_back(&known_.at(metric - 1));
    rows_.add(values, of_values);
    auto frames = rows_.take(stream);
    REQUIRE(frames.size() == 1);
    return std::move(frames[0]);
  }

 private:
  const std::vector<metrics::Metric> known_ = known_metrics();
  metrics::ValueRows rows_;
};

// Kernels of the grid (8,1,1) and block (32,2,1) with these correlation ids, 100 ns each.
wire::Frame kernels_frame(std::uint32_t stream, const std::vector<std::uint32_t>& correlations) {
  wire::Encoder packed;
  for (const std::uint32_t id : correlations) {
    packed.integer(std::uint64_t{1000} * id).integer(std::uint64_t{1000} * id + 100);
    packed.integer(id).integer(std::uint32_t{1});
    for (const std::uint32_t size : {8, 1, 1, 32, 2, 1}) packed.integer(size);
    packed.integer(std::uint32_t{0});
  }
  return BatchBuilder()
      .strings({{1, "_ZN2ns3addEPfi"}})
      .rows(10, static_cast<std::uint32_t>(correlations.size()), packed)
      .frame(stream);
}

wire::Frame kernel_table(std::uint32_t stream) {
  using schema::Type;
  return test::table(stream,
                     {10,
                      "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                      "",
                      {test::column("start", Type::u64), test::column("end", Type::u64),
                       test::column("correlationId", Type::u32, schema::Role::correlation),
                       test::column("name", Type::string), test::column("gridX", Type::u32),
                       test::column("gridY", Type::u32), test::column("gridZ", Type::u32),
                       test::column("blockX", Type::u32), test::column("blockY", Type::u32),
                       test::column("blockZ", Type::u32), test::column("deviceId", Type::u32)}});
}

void begin(store::Loader& loader) {
  loader.load(metrics_frame());
  for (const std::uint32_t stream : {1, 2}) {
    loader.load(test::hello(stream, 100 * stream));
    loader.load(kernel_table(stream));
  }
}

std::string malformed(Database& database) {
  return rows(database, "SELECT processId, value FROM STATISTIC WHERE name = 'frames_malformed'");
}

std::string printed(Database& database, report::ReportOptions options = {}) {
  std::ostringstream out;
  options.names = report::NameStyle::modern;
  report::print_reports(database, out, options);
  return out.str();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("metrics and groups have rows") {
  store::Loader loader = make_loader();
  wire::MetricsInfo info = metrics_info();
  info.metrics.push_back(metric("forged", "", "", 7));
  info.metrics.push_back(metric("forged event", "", "", 12345678, true));
  loader.load(metrics_frame(info));
  loader.commit();
  Database& database = loader.database();
  CHECK(rows(database, "SELECT _id_, name, unit, nvprofId, isEvent FROM METRIC") ==
        "1|achieved_occupancy||" +
            std::to_string(schema::nvprof_metric_id("achieved_occupancy").value()) +
            "|0 2|dram_read_throughput|bytes/s|" +
            std::to_string(schema::nvprof_metric_id("dram_read_throughput").value()) +
            "|0 3|sm__cycles_active.avg|cycle|-|0 4|lts__hit_rate.pct|%|-|0 5|warps_launched||" +
            std::to_string(schema::nvprof_event_id("warps_launched").value()) +
            "|1 6|forged||-|0 7|forged event||-|1");
  CHECK(rows(database, "SELECT description, formula FROM METRIC WHERE _id_ = 1") ==
        "Warps in flight|of achieved_occupancy");
  CHECK(rows(database, "SELECT * FROM METRIC_GROUP") ==
        "1|GH100|application||outside the SM|1|45.0|dram_read_throughput, lts__hit_rate.pct|"
        "dram__bytes_read.sum.per_second, lts__hit_rate.pct");
}

TEST_CASE("metrics may become more, but not others") {
  store::Loader loader = make_loader();
  loader.load(metrics_frame());
  wire::MetricsInfo info = metrics_info();
  info.metrics.push_back(metric("more"));
  loader.load(metrics_frame(info));
  CHECK(rows(loader.database(), "SELECT count(*) FROM METRIC") == "6");
  loader.load(metrics_frame());  // fewer
  info.metrics[0].name = "another";
  loader.load(metrics_frame(info));
  loader.commit();
  CHECK(rows(loader.database(), "SELECT name FROM METRIC WHERE _id_ IN (1, 6)") ==
        "achieved_occupancy more");
  CHECK(malformed(loader.database()) == "0|2");
}

TEST_CASE("ranges: correlation ids, names, kinds, times") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  MeasuredRange graph = kernel(9, 3), user = kernel(0, 1), unwanted = kernel(8, 2);
  graph.kind = RangeKind::graph;
  graph.name = 0;
  graph.start = 5;
  user.kind = RangeKind::range;
  user.name = 2;
  user.stream = 0;
  user.start = 10;
  user.end = 30;
  unwanted.wanted = 0;
  loader.load(values.frame(
      2, values_of({kernel(7, 1), unwanted, graph, user}, {cycles}, {1.5, 2.5, 3.5, 4.5})));
  loader.commit();
  Database& database = loader.database();
  CHECK(rows(database,
             "SELECT _id_, correlationId >> 32, correlationId & 4294967295, kind, "
             "(SELECT value FROM StringTable s WHERE s._id_ = r.name), processId, deviceId, "
             "contextId, streamId, ordinal, start, stop, passGroup, note FROM METRIC_RANGE r") ==
        "1|1|7|kernel|_ZN2ns3addEPfi|200|0|1|7|1|-|-|1|- "
        "2|1|9|graph|-|200|0|1|7|3|-|-|1|- "
        "3|-|-|range|step|200|0|1|-|1|10|30|1|-");
  CHECK(rows(database, "SELECT gridX, gridY, gridZ, blockX, blockY, blockZ FROM METRIC_RANGE") ==
        "8|1|1|32|2|1 -|-|-|-|-|- -|-|-|-|-|-");
  CHECK(rows(database, "SELECT * FROM METRIC_VALUE") == "1|3|1.5 2|3|3.5 3|3|4.5");
}

TEST_CASE("correlation ids of ranges wrap as those of kernels do") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  loader.load(kernels_frame(1, {0x70000000, 0xe0000000, 3}));
  loader.load(values.frame(
      1, values_of({kernel(0xfffffff0, 1), kernel(3, 2), kernel(5, 3)}, {cycles}, {1, 2, 3})));
  loader.load(kernels_frame(1, {5}));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT correlationId >> 32, correlationId & 4294967295 FROM METRIC_RANGE") ==
        "0|4294967280 2|3 2|5");
  CHECK(rows(loader.database(), "SELECT value, start FROM kernel_metrics ORDER BY ordinal") ==
        "1.0|- 2.0|3000 3.0|5000");
}

TEST_CASE("what has no value has a reason") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  MeasuredRange noted = kernel(1, 1);
  noted.note = 1;
  loader.load(values.frame(1, values_of({noted, kernel(2, 2), kernel(3, 3)}, {cycles, hit_rate},
                                        {no_value, no_value, 5, no_value, 6, 7})));
  loader.load(values.frame(1, values_of({noted}, {}, {})));
  loader.finish();
  Database& database = loader.database();
  CHECK(rows(database, "SELECT * FROM METRIC_VALUE") == "2|3|5.0 3|3|6.0 3|4|7.0");
  CHECK(rows(database,
             "SELECT count(*) FROM METRIC_RANGE r WHERE note IS NULL AND (SELECT "
             "count(*) FROM METRIC_VALUE v WHERE v.range = r._id_) < 2") == "0");
  CHECK(rows(database,
             "SELECT kind, name, short_name, note, measured, grid, block, ordinal, process_id "
             "FROM metric_gaps ORDER BY ordinal, measured") ==
        "kernel|ns::add(float*, int)|add|left out: cooperative|0|(8,1,1)|(32,2,1)|1|100 "
        "kernel|ns::add(float*, int)|add|left out: cooperative|0|(8,1,1)|(32,2,1)|1|100 "
        "kernel|ns::add(float*, int)|add|its counters gave no number|1|(8,1,1)|(32,2,1)|2|100");
}

TEST_CASE("own rows that cannot be believed are counted and leave nothing") {
  const auto load = [](const wire::Frame& frame) {
    store::Loader loader = make_loader();
    loader.load(metrics_frame());
    loader.load(test::hello(1, 100));
    loader.load(frame);
    loader.commit();
    CHECK(rows(loader.database(), "SELECT count(*) FROM METRIC_RANGE") == "0");
    CHECK(rows(loader.database(), "SELECT count(*) FROM RUN WHERE key = 'forged'") == "0");
    return malformed(loader.database());
  };
  Values values;
  const wire::Frame sound = values.frame(1, values_of({kernel(1, 1)}, {cycles}, {1}));
  const auto payload = sound.payload();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{3}, payload.size() / 2, payload.size() - 1}) {
    INFO(length);
    CHECK(load(wire::make_frame(wire::FrameType::rows, 1, payload.first(length))) == "100|1");
  }
  // Rows for a table of the run's own, and rows that nobody defined.
  wire::Encoder table, row, forged, stray;
  encode(table, wire::WireTable{7, "RUN", "", {test::column("key", schema::Type::text)}});
  row.integer(std::uint32_t{1});
  const auto bytes = table.bytes();
  const auto batch = BatchBuilder().bytes({{1, "forged"}}).rows(7, 1, row).frame(1);
  forged.integer(std::uint32_t{1});
  forged.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).raw(batch.payload());
  CHECK(load(wire::make_frame(wire::FrameType::rows, 1, forged.bytes())) == "100|1");
  stray.integer(std::uint32_t{0}).raw(batch.payload());
  CHECK(load(wire::make_frame(wire::FrameType::rows, 1, stray.bytes())) == "100|1");
}

TEST_CASE("a range that has the number of another is left out") {
  store::Loader loader = make_loader();
  begin(loader);
  for (int i = 0; i < 2; ++i) {
    Values values;
    loader.load(values.frame(1, values_of({kernel(1 + i, 1)}, {cycles}, {1.0 + i})));
  }
  loader.commit();
  CHECK(rows(loader.database(), "SELECT _id_, correlationId FROM METRIC_RANGE") == "1|1");
  CHECK(rows(loader.database(), "SELECT * FROM METRIC_VALUE") == "1|3|1.0");
  CHECK(rows(loader.database(),
             "SELECT processId, value FROM STATISTIC WHERE name = 'stream_limited'") == "100|2");
}

TEST_CASE("only the launcher's frames bring values of metrics") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, {7, "METRIC_VALUE", "", {test::column("metric", schema::Type::u32)}}));
  loader.commit();
  CHECK(malformed(loader.database()) == "100|1");
}

TEST_CASE("nvprof's tables have the values it has ids for") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  MeasuredRange graph = kernel(9, 5);
  graph.kind = RangeKind::graph;
  loader.load(values.frame(
      2, values_of({kernel(7, 1), kernel(0, 2), graph}, {occupancy, throughput, cycles, event},
                   {0.5, 1e9, 3, 64, 0.5, 1, 3, 64, 0.5, 1, 3, 64})));
  loader.load(
      values.frame(1, values_of({kernel(1, 1), kernel(2, 2)}, {occupancy, throughput, event},
                                {infinity, infinity, -infinity, -1, -1, 1e300})));
  loader.commit();
  Database& database = loader.database();
  const std::string first = std::to_string(*schema::nvprof_metric_id("dram_read_throughput"));
  const std::string second = std::to_string(*schema::nvprof_metric_id("achieved_occupancy"));
  CHECK(rows(database,
             "SELECT id, hex(value), correlationId, flags, processId FROM "
             "CUPTI_ACTIVITY_KIND_METRIC ORDER BY correlationId, id") ==
        first + "|0000000000000000|2|0|100 " + second + "|000000000000F0BF|2|0|100 " +  // -1
            first + "|00CA9A3B00000000|4294967303|0|200 " + second +
            "|000000000000E03F|4294967303|0|200");
  CHECK(rows(database,
             "SELECT value, domain, correlationId, processId FROM CUPTI_ACTIVITY_KIND_EVENT "
             "ORDER BY correlationId") == "9000000000000000000|0|2|100 64|0|4294967303|200");
  CHECK(rows(database, "SELECT count(*) FROM METRIC_VALUE WHERE value > 1e308") == "2");
}

TEST_CASE("views of metrics") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  loader.load(kernels_frame(1, {1, 2, 3, 4}));
  loader.load(kernels_frame(2, {1}));
  MeasuredRange other = kernel(4, 4), user = kernel(0, 1), graph = kernel(3, 5);
  other.grid[0] = 9;
  user.kind = RangeKind::range;
  user.name = 2;
  user.start = 10;
  user.end = 30;
  graph.kind = RangeKind::graph;
  graph.name = 0;
  loader.load(values.frame(
      1,
      values_of(
          {kernel(1, 1), kernel(2, 2), kernel(3, 3), other, user, graph}, {cycles, hit_rate},
          {1e9, 10, 1e9 + 1, no_value, 1e9 + 5, no_value, 7, no_value, 8, no_value, 9, no_value})));
  loader.finish();
  Database& database = loader.database();
  CHECK(rows(database,
             "SELECT name, metric, avg(value), unit FROM kernel_metrics "
             "WHERE grid = '(8,1,1)' GROUP BY 1, 2") ==
        "ns::add(float*, int)|lts__hit_rate.pct|10.0|% "
        "ns::add(float*, int)|sm__cycles_active.avg|1000000002.0|cycle");
  CHECK(rows(database,
             "SELECT short_name, metric, value, correlation_id, device_id, context_id, "
             "stream_id, process_id, grid, block, start, end, duration, pass_group, note "
             "FROM kernel_metrics WHERE correlation_id = 2") ==
        "add|sm__cycles_active.avg|1000000001.0|2|0|1|7|100|(8,1,1)|(32,2,1)|2000|2100|100|1|"
        "its counters gave no number");
  CHECK(rows(database,
             "SELECT kind, name, metric, value, unit, start, end, duration, ordinal "
             "FROM range_metrics ORDER BY kind") ==
        "graph|-|sm__cycles_active.avg|9.0|cycle|3000|3100|100|5 "
        "range|step|sm__cycles_active.avg|8.0|cycle|10|30|20|1");
  CHECK(rows(database,
             "SELECT short_name, grid, block, metric, unit, launches, measured, mean, "
             "min, max, variance FROM metric_coverage WHERE measured > 0 "
             "ORDER BY grid, metric") ==
        "add|(8,1,1)|(32,2,1)|lts__hit_rate.pct|%|5|1|10.0|10.0|10.0|- "
        "add|(8,1,1)|(32,2,1)|sm__cycles_active.avg|cycle|5|3|1000000002.0|1000000000.0|"
        "1000000005.0|7.0 "
        "add|(9,1,1)|(32,2,1)|sm__cycles_active.avg|cycle|-|1|7.0|7.0|7.0|-");
  // Two shapes and five metrics.
  CHECK(rows(database, "SELECT count(*), sum(measured = 0) FROM metric_coverage") == "10|7");
}

TEST_CASE("another kernel of the same correlation id adds no rows") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  loader.load(kernels_frame(1, {1}));
  wire::Encoder packed;
  packed.integer(std::uint64_t{50}).integer(std::uint64_t{60});
  packed.integer(std::uint32_t{1}).integer(std::uint32_t{1});
  for (int i = 0; i < 7; ++i) packed.integer(std::uint32_t{1});
  loader.load(BatchBuilder().strings({{1, "another"}}).rows(10, 1, packed).frame(1));
  loader.load(values.frame(1, values_of({kernel(1, 1)}, {cycles}, {1})));
  loader.commit();
  CHECK(rows(loader.database(), "SELECT value, start FROM kernel_metrics") == "1.0|1000");
}

TEST_CASE("losses of metrics are losses, launches that were left out are not") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  const std::vector<wire::Statistic> statistics{
      {"", "metrics_launches", 100},      {"", "metrics_ranges", 50},
      {"", "metrics_ranges_dropped", 3},  {"", "metrics_mismatched", 2},
      {"", "metrics_skipped_graph", 1},   {"", "metrics_skipped_excluded", 1},
      {"", "metrics_skipped_capture", 1}, {"", "metrics_skipped_failed", 1},
      {"", "profiler_kernels", 50},       {"", "metrics_overhead_permille", 9}};
  wire::Encoder encoder;
  encode(encoder, statistics);
  loader.load(test::frame_of(wire::FrameType::statistics, 1, encoder));
  loader.commit();
  CHECK(rows(loader.database(), "SELECT name, value, severity FROM losses ORDER BY name") ==
        "metrics_mismatched|2|data_loss metrics_ranges_dropped|3|data_loss");
  CHECK(loader.totals().missing == 5);
  CHECK(rows(loader.database(),
             "SELECT severity, count(*) FROM STATISTIC WHERE name LIKE "
             "'metrics%' OR name = 'profiler_kernels' GROUP BY 1") ==
        "data_loss|2 info|4 notice|4");
}

TEST_CASE("reports show the values of both kinds of metrics") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  loader.load(kernels_frame(1, {1, 2}));
  loader.load(values.frame(
      1, values_of({kernel(1, 1), kernel(2, 2)}, {occupancy, throughput, cycles, hit_rate, event},
                   {0.25, 1 << 20, 1000, 50, 64, 0.75, 1 << 20, 2000.5, infinity, 64})));
  loader.finish();
  Database& database = loader.database();
  CHECK(contains(printed(database), R"(======== Profiling result:
======== Event result:
Invocations                                Event Name         Min         Max         Avg       Total
Device "0"
    Kernel: ns::add(float*, int)
          2                            warps_launched          64          64          64         128

======== Metric result:
Invocations                               Metric Name                        Metric Description         Min         Max         Avg
Device "0"
    Kernel: ns::add(float*, int)
          2                      dram_read_throughput             Device Memory Read Throughput  1.0000MB/s  1.0000MB/s  1.0000MB/s
          2                        achieved_occupancy                        Achieved Occupancy    0.250000    0.750000    0.500000
          2                     sm__cycles_active.avg                    Cycles at work (cycle)  1.0000e+03  2.0005e+03  1.5003e+03
          2                         lts__hit_rate.pct                                      Hits      50.00%        inf%        inf%
)"));
  CHECK(!contains(printed(database), "can't be profiled"));
  const std::string csv = printed(database, {.layout = Layout::csv});
  CHECK(contains(csv, R"csv("0","ns::add(float*, int)",2,"sm__cycles_active.avg",)csv"
                      R"csv("Cycles at work (cycle)",1000.000000,2000.500000,1500.250000)csv"));
  const std::string json = printed(database, {.layout = Layout::json});
  CHECK(contains(json, R"("metric":"sm__cycles_active.avg")"));
  CHECK(contains(json, R"("unit":"cycle")"));
  CHECK(printed(database, {.chosen = {"print-gpu-trace"}}) == R"(======== Profiling result:
         Device   Context    Stream                Kernel  warps_launched  dram_read_throughput  achieved_occupancy  sm__cycles_active.avg  lts__hit_rate.pct
                                                                                           MB/s                                      cycle                  %
              0         0         0  ns::add(float*, int)              64              1.000000            0.250000  1.000000000000000e+03              50.00
              0         0         0  ns::add(float*, int)              64              1.000000            0.750000  2.000500000000000e+03                inf
)");
  CHECK(printed(database, {.chosen = {"print-gpu-trace"}, .layout = Layout::csv}) ==
        R"csv(======== Profiling result:
"Device","Context","Stream","Kernel","Correlation_ID","warps_launched","dram_read_throughput","achieved_occupancy","sm__cycles_active.avg","lts__hit_rate.pct"
,,,,,,MB/s,,cycle,%
"0","0","0","ns::add(float*, int)",1,64,1.000000,0.250000,1000.000000,50.000000
"0","0","0","ns::add(float*, int)",2,64,1.000000,0.750000,2000.500000,inf
)csv");
  CHECK(printed(database, {.chosen = {"print-api-trace"}}) == printed(database));
}

TEST_CASE("values of CUPTI's metrics alone make a report, values of ranges do not") {
  Values values;
  for (const bool of_kernel : {true, false}) {
    store::Loader loader = make_loader();
    begin(loader);
    loader.load(kernels_frame(1, {1}));
    MeasuredRange range = kernel(1, 1);
    if (!of_kernel) range.kind = RangeKind::range;
    loader.load(values.frame(1, values_of({range}, {cycles}, {1})));
    loader.finish();
    CHECK(contains(printed(loader.database()), "Metric result:") == of_kernel);
    CHECK(contains(printed(loader.database()), "sm__cycles_active.avg") == of_kernel);
  }
}

TEST_CASE("a slice has the values of the kernels and ranges in it") {
  Values values;
  const test::TemporaryFolder folder;
  store::Loader loader = make_loader(folder / "run.sqlite");
  begin(loader);
  loader.load(kernels_frame(1, {1, 2, 3}));  // at 1000, 2000, 3000
  MeasuredRange early = kernel(0, 1), late = kernel(0, 2);
  early.kind = late.kind = RangeKind::range;
  early.start = 1500;
  late.start = 2500;
  loader.load(values.frame(1, values_of({kernel(1, 1), kernel(2, 2), kernel(3, 3), early, late},
                                        {cycles}, {1, 2, 3, 4, 5})));
  loader.finish();
  const auto excerpt = [&](const char* name, const exporting::ExcerptOptions& options) {
    exporting::write_excerpt(
        loader.database(), folder / name, options, [](std::string_view) {}, nullptr);
    return Database(folder / name, Database::Mode::read_only);
  };
  Database slice =
      excerpt("slice.sqlite", {.from = {1000}, .to = {2000}, .keep = {}, .command = ""});
  CHECK(rows(slice, "SELECT value FROM kernel_metrics") == "2.0");
  CHECK(rows(slice, "SELECT value FROM range_metrics") == "5.0");
  CHECK(rows(slice, "SELECT count(*) FROM METRIC_VALUE") == "2");
  Database kernels = excerpt(
      "kernels.sqlite",
      {.from = {}, .to = {}, .keep = {{"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"}}, .command = ""});
  CHECK(rows(kernels, "SELECT count(*) FROM METRIC_RANGE") == "0");
  CHECK(rows(kernels, "SELECT count(*) FROM kernels") == "3");
  Database metrics =
      excerpt("metrics.sqlite",
              {.from = {}, .to = {}, .keep = {{"CUPTI_ACTIVITY_KIND_METRIC"}}, .command = ""});
  CHECK(rows(metrics, "SELECT count(*) FROM METRIC_VALUE") == "5");
}

TEST_CASE("values of metrics are rescued with the rest") {
  Values values;
  store::Loader loader = make_loader();
  begin(loader);
  loader.load(
      values.frame(1, values_of({kernel(1, 1), kernel(2, 2)}, {cycles, hit_rate}, {1, 2, 3, 4})));
  loader.finish();
  Database copy(":memory:", Database::Mode::create);
  CHECK(reading::rescue(loader.database(), copy, true, [](std::string_view) {}).empty());
  CHECK(rows(copy, "SELECT * FROM METRIC_VALUE") == "1|3|1.0 1|4|2.0 2|3|3.0 2|4|4.0");
  CHECK(rows(copy, "SELECT count(*) FROM kernel_metrics") == "4");
}
