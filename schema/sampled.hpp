// Tables of --pm-sampling: packed rows (schema/rows.hpp) sent by gpuprof-sampler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "schema/column.hpp"
#include "schema/rows.hpp"

namespace gpuprof::schema {

// The number of values per row; a run with more metrics has several rows per sample. One row per
// value would be four times as large.
inline constexpr std::size_t pm_values_per_row = 16;

inline constexpr std::array<std::string_view, pm_values_per_row> pm_value_names{
    "v1", "v2",  "v3",  "v4",  "v5",  "v6",  "v7",  "v8",
    "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16"};

// The n-th value of a row, from 0; NaN: none.
template <class Row, std::size_t n>
struct PmValue {
  std::optional<double> operator()(const Row& row) const { return row.values[n]; }
};

// The columns v1, v2 … of a table, with their doc.
template <class Row, std::size_t... I>
consteval auto pm_value_fields(Doc doc, std::index_sequence<I...>) {
  return std::array{field<Row>(pm_value_names[I], doc, PmValue<Row, I>())...};
}

template <class T, std::size_t A, std::size_t B>
consteval std::array<T, A + B> joined(const std::array<T, A>& a, const std::array<T, B>& b) {
  return [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>,
                                                 std::index_sequence<J...>) {
    return std::array<T, A + B>{a[I]..., b[J]...};
  }
  (std::make_index_sequence<A>(), std::make_index_sequence<B>());
}

struct PmMetric {
  struct Row {
    std::uint32_t number;  // from 1
    std::string_view name, unit, description, formula;
  };

  static constexpr std::array fields{
      field<Row>(row_id, "the metric, counted from 1",
                 [](const Row& row) { return RowNumber{row.number}; }),
      field<Row>("name", "as it was asked for", [](const Row& row) { return Text{row.name}; }),
      field<Row>("unit", "unit of the values; NULL = a plain number",
                 [](const Row& row) { return Text{row.unit}; }),
      field<Row>("description", "what it measures",
                 [](const Row& row) { return Text{row.description}; }),
      field<Row>("formula", "how it is computed from metrics of CUPTI's",
                 [](const Row& row) { return Text{row.formula}; }),
      field<Row>("part", "PM_SAMPLE.part that has its values",
                 [](const Row& row) {
                   return static_cast<std::uint32_t>((row.number - 1) / pm_values_per_row);
                 }),
      field<Row>("place", "n, where its values are in PM_SAMPLE.vn",
                 [](const Row& row) {
                   return static_cast<std::uint32_t>((row.number - 1) % pm_values_per_row + 1);
                 }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{.name = "PM_METRIC",
                               .doc = "The metrics that were sampled over time.",
                               .columns = columns,
                               .origin = Origin::own,
                               .row_doc = fields[0].column.doc};
  static constexpr std::uint32_t id = first_row_table + 4;
};

struct PmDevice {
  struct Row {
    std::uint32_t device;
    std::string_view chip;
    std::optional<std::uint64_t> interval_ns;
    std::optional<std::uint64_t> interval_cycles;
    std::uint64_t buffer_bytes;
    bool keep_latest;
    std::string_view left_out;
  };

  static constexpr std::array fields{
      field<Row>("deviceId", "the device", [](const Row& row) { return row.device; }),
      field<Row>("chip", "as CUPTI names it", [](const Row& row) { return Text{row.chip}; }),
      field<Row>("intervalNs", "[ns] from sample to sample; NULL = it is counted in cycles",
                 [](const Row& row) { return row.interval_ns; }),
      field<Row>("intervalCycles",
                 "[count] cycles of the system clock from sample to sample; NULL = in ns",
                 [](const Row& row) { return row.interval_cycles; }),
      field<Row>("bufferBytes", "[bytes] the GPU's buffer for samples that were not read yet",
                 [](const Row& row) { return row.buffer_bytes; }),
      field<Row>("keepLatest",
                 "1 = when the buffer is full, new samples take the place of the oldest; 0 = they "
                 "are lost",
                 [](const Row& row) { return std::uint8_t{row.keep_latest}; }),
      field<Row>("leftOut",
                 "metrics that could not be counted on this device, with commas between; NULL = "
                 "none",
                 [](const Row& row) { return Text{row.left_out}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "PM_DEVICE",
      .doc =
          "Devices whose counters were sampled over time. While they are, CUPTI may hold their "
          "clocks.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc};
  static constexpr std::uint32_t id = first_row_table + 5;
};

struct PmSample {
  struct Row {
    std::uint32_t device;
    std::uint64_t start, stop;
    std::uint32_t part;
    const double* values;  // pm_values_per_row; NaN: none
  };

  static constexpr std::array fields = joined(
      std::array{
          field<Row>("deviceId", "the device", [](const Row& row) { return row.device; }),
          field<Row>("start", "[ns] when counting for it began, on CUPTI's clock",
                     [](const Row& row) { return row.start; }),
          field<Row>("stop", "[ns] when it was over, on CUPTI's clock",
                     [](const Row& row) { return row.stop; }),
          field<Row>("part", "which metrics these are values of: PM_METRIC.part",
                     [](const Row& row) { return row.part; }),
      },
      pm_value_fields<Row>("value of the metric with this PM_METRIC.place and part; NULL = none",
                           std::make_index_sequence<pm_values_per_row>()));
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "PM_SAMPLE",
      .doc =
          "What the counters of a device said of a short time, 16 metrics in a row. The view "
          "pm_samples has a row for each value.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc};
  static constexpr std::uint32_t id = first_row_table + 6;
};

struct PmGap {
  struct Row {
    std::uint32_t device;
    std::uint64_t start;
    std::optional<std::uint64_t> stop;
    std::string_view reason;
  };

  static constexpr std::array fields{
      field<Row>("deviceId", "the device", [](const Row& row) { return row.device; }),
      field<Row>("start", "[ns] when the last sample before was over, on CUPTI's clock",
                 [](const Row& row) { return row.start; }),
      field<Row>("stop", "[ns] when the next one began, on CUPTI's clock; NULL = there was none",
                 [](const Row& row) { return row.stop; }),
      field<Row>("reason", "'overflow': the GPU's buffer was full; 'missing': CUPTI delivered none",
                 [](const Row& row) { return Text{row.reason}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{.name = "PM_GAP",
                               .doc = "Times without samples between those that there are.",
                               .columns = columns,
                               .origin = Origin::own,
                               .row_doc = row_id_doc};
  static constexpr std::uint32_t id = first_row_table + 7;
};

// The tables whose rows a sampler may send.
inline constexpr std::array sampled_tables{&PmMetric::table, &PmDevice::table, &PmSample::table,
                                           &PmGap::table};

}  // namespace gpuprof::schema
