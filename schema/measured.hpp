// Tables of --metrics measurements: the run's metrics and their groups, and packed rows of ranges
// and values (schema/rows.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schema/column.hpp"
#include "schema/rows.hpp"

namespace gpuprof::schema {

enum class RangeKind : std::uint8_t { kernel = 0, graph = 1, range = 2 };

constexpr std::string_view name_of(RangeKind kind) {
  switch (kind) {
    case RangeKind::kernel: return "kernel";
    case RangeKind::graph: return "graph";
    case RangeKind::range: return "range";
  }
  return "";
}

// A launch, or a range of the user's, as sent by a collector: copied into payloads as it is,
// little-endian, without padding.
struct MeasuredRange {
  std::uint64_t ordinal = 0;      // of the launch in its context, from 1; for ranges: of the range
  std::int64_t start = 0;         // ns on CUPTI's clock, ranges only; 0: unknown
  std::int64_t end = 0;           // like start
  std::uint32_t correlation = 0;  // CUPTI's id of the launching call; 0: none
  std::uint32_t name = 0;         // index into `names`, from 1; 0: none
  std::uint32_t stream = 0;       // CUPTI's id; 0: unknown
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
  RangeKind kind{};
  std::uint8_t wanted = 1;  // 0: between others, but not requested
  std::uint16_t note = 0;   // index into `notes`, from 1: why there are no values; 0: there are
};
static_assert(sizeof(MeasuredRange) == 64);

// A row of METRIC_RANGE.
struct MetricRange {
  struct Row {
    std::uint64_t number;  // from 1, across all processes of the run
    std::uint32_t group;
    std::uint32_t device;
    std::uint32_t context;
    std::string_view name;
    std::string_view note;
    const MeasuredRange& range;

    std::optional<std::uint32_t> of_kernel(std::uint32_t value) const {
      return range.kind == RangeKind::kernel ? std::optional(value) : std::nullopt;
    }
    std::optional<std::int64_t> of_range(std::int64_t time) const {
      return range.kind == RangeKind::range && time != 0 ? std::optional(time) : std::nullopt;
    }
  };

  static constexpr std::array fields{
      field<Row>(row_id, "the range, as METRIC_VALUE.range has it",
                 [](const Row& row) { return RowNumber{row.number}; }),
      field<Row>("correlationId",
                 "of the call that launched it: CONCURRENT_KERNEL.correlationId; NULL = none",
                 [](const Row& row) { return Correlation{row.range.correlation}; }),
      field<Row>(
          "kind",
          "'kernel', 'graph' for a launch of a CUDA graph, 'range' for one that the user marked",
          [](const Row& row) { return Text{name_of(row.range.kind)}; }),
      field<Row>("name", "kernel's mangled name, or range's: StringTable id; NULL = not known",
                 [](const Row& row) { return StringId{row.name}; }),
      field<Row>("deviceId", "device that ran it", [](const Row& row) { return row.device; }),
      field<Row>("contextId", "context that ran it", [](const Row& row) { return row.context; }),
      field<Row>("streamId", "stream that ran it; NULL = not known",
                 [](const Row& row) {
                   return row.range.stream ? std::optional(row.range.stream) : std::nullopt;
                 }),
      field<Row>("ordinal", "counts the launches of the context from 1; of 'range' the ranges",
                 [](const Row& row) { return row.range.ordinal; }),
      field<Row>("gridX", "[count] blocks in x; NULL = no kernel",
                 [](const Row& row) { return row.of_kernel(row.range.grid[0]); }),
      field<Row>("gridY", "[count] blocks in y",
                 [](const Row& row) { return row.of_kernel(row.range.grid[1]); }),
      field<Row>("gridZ", "[count] blocks in z",
                 [](const Row& row) { return row.of_kernel(row.range.grid[2]); }),
      field<Row>("blockX", "[count] threads of a block in x; NULL = no kernel",
                 [](const Row& row) { return row.of_kernel(row.range.block[0]); }),
      field<Row>("blockY", "[count] threads of a block in y",
                 [](const Row& row) { return row.of_kernel(row.range.block[1]); }),
      field<Row>("blockZ", "[count] threads of a block in z",
                 [](const Row& row) { return row.of_kernel(row.range.block[2]); }),
      field<Row>("start",
                 "[ns] when the user's range began, on CUPTI's clock; NULL for others: "
                 "CONCURRENT_KERNEL has the times of kernels",
                 [](const Row& row) { return row.of_range(row.range.start); }),
      field<Row>("stop", "[ns] when the user's range was over; NULL as start",
                 [](const Row& row) { return row.of_range(row.range.end); }),
      field<Row>("passGroup", "METRIC_GROUP that was measured",
                 [](const Row& row) { return row.group; }),
      field<Row>("note", "why values are missing; NULL = none is",
                 [](const Row& row) { return Text{row.note}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "METRIC_RANGE",
      .doc =
          "What was measured: a launch, or a range of the user's, once for each group. The view "
          "metric_gaps has those without values.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = fields[0].column.doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table;
};

struct MetricValue {
  struct Row {
    std::uint64_t range;
    std::uint32_t metric;
    double value;
  };

  static constexpr std::array fields{
      field<Row>("range", "METRIC_RANGE that was measured",
                 [](const Row& row) { return row.range; }),
      field<Row>("metric", "METRIC it is a value of", [](const Row& row) { return row.metric; }),
      field<Row>("value", "in METRIC.unit. There is no row for a value that is missing",
                 [](const Row& row) { return row.value; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "METRIC_VALUE",
      .doc = "Values of metrics. The views kernel_metrics and range_metrics have them with names.",
      .columns = columns,
      .origin = Origin::own,
      .key = "range, metric",
      .without_rowid = true};
  static constexpr std::uint32_t id = first_row_table + 1;
};

// A value with an nvprof id, as nvprof stores it.
struct NvprofValue {
  std::uint32_t id;
  std::uint64_t bits;
  std::uint32_t correlation;  // CUPTI's id
};

struct NvprofEventRow {
  using Row = NvprofValue;
  static constexpr std::array fields{
      field<Row>("id", "the event: METRIC.nvprofId", [](const Row& row) { return row.id; }),
      field<Row>("value", "[count] how often it came", [](const Row& row) { return row.bits; }),
      field<Row>("domain", "0: today's events have none",
                 [](const Row&) { return std::uint32_t{0}; }),
      field<Row>("correlationId", "of the call that launched the kernel",
                 [](const Row& row) { return Correlation{row.correlation}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "CUPTI_ACTIVITY_KIND_EVENT",
      .doc = "Values of nvprof's events per kernel, as METRIC_VALUE has them.",
      .columns = columns,
      .origin = Origin::own,
      .kind = 6,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 2;
};

struct NvprofMetricRow {
  using Row = NvprofValue;
  static constexpr std::array fields{
      field<Row>("id", "the metric: METRIC.nvprofId", [](const Row& row) { return row.id; }),
      field<Row>("value", "CUpti_MetricValue; its kind depends on the metric",
                 [](const Row& row) { return EightBytes{row.bits}; }),
      field<Row>("correlationId", "of the call that launched the kernel",
                 [](const Row& row) { return Correlation{row.correlation}; }),
      field<Row>("flags", "0", [](const Row&) { return std::uint32_t{0}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "CUPTI_ACTIVITY_KIND_METRIC",
      .doc = "Values of nvprof's metrics per kernel, as METRIC_VALUE has them.",
      .columns = columns,
      .origin = Origin::own,
      .kind = 7,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 3;
};

namespace tables {

inline constexpr Column metric_columns[]{
    stored("name", Type::text, "nvprof's name or CUPTI's, as it was asked for"),
    stored("unit", Type::text, "unit of the values; '' = a plain number"),
    stored("description", Type::text, "what it measures"),
    stored("formula", Type::text, "how it is computed from metrics of CUPTI's"),
    stored("nvprofId", Type::i64,
           "id of the values in CUPTI_ACTIVITY_KIND_METRIC, or EVENT for an event; NULL = none "
           "there"),
    stored("isEvent", Type::i64, "1 = one of nvprof's events"),
};
inline constexpr Table metric{.name = "METRIC",
                              .doc = "The metrics and events that were collected.",
                              .columns = metric_columns,
                              .origin = Origin::run,
                              .row_doc = "the metric, as METRIC_VALUE.metric has it"};

inline constexpr Column metric_group_columns[]{
    stored("chip", Type::text, "chip it is for, as CUPTI names it"),
    stored("mode", Type::text,
           "how kernels were measured: application, multiplex, kernel or range"),
    stored("scope", Type::text, "which kernels were asked for; '' = all"),
    stored("costClass", Type::text,
           "where the counters sit, which decides what measuring them costs"),
    stored("passes", Type::i64, "[count] runs of a kernel it takes"),
    stored("expectedMicroseconds", Type::f64,
           "[us] what a kernel was expected to cost, all passes"),
    stored("metrics", Type::text, "names of its metrics, with commas between"),
    stored("counters", Type::text, "what CUPTI was asked for, with commas between"),
};
inline constexpr Table metric_group{.name = "METRIC_GROUP",
                                    .doc = "Which metrics were measured together, and how.",
                                    .columns = metric_group_columns,
                                    .origin = Origin::run,
                                    .row_doc = "the group, as METRIC_RANGE.passGroup has it"};

}  // namespace tables

}  // namespace gpuprof::schema
