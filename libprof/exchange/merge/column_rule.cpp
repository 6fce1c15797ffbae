#include "libprof/exchange/merge/column_rule.hpp"

#include <algorithm>
#include <array>

#include "libprof/read/tables.hpp"
#include "schema/cpu_samples.hpp"
#include "schema/graph_nodes.hpp"
#include "schema/host_samples.hpp"
#include "schema/nccl.hpp"
#include "schema/tables.hpp"

namespace gpuprof::merging {
namespace {

using schema::Column;
using schema::Table;
namespace tables = schema::tables;

// All others in ns are durations, or of other clocks.
constexpr std::array<std::string_view, 10> times{"start",     "end",    "stop",      "timestamp",
                                                 "completed", "queued", "submitted", "deviceTime",
                                                 "time",      "cupti"};
constexpr std::array<std::string_view, 5> processes{"processId", "cuProcessId", "poolProcessId",
                                                    "parentProcessId", "ofProcess"};
constexpr std::array<std::string_view, 5> devices{"deviceId", "objectDeviceId", "cuDeviceId",
                                                  "srcDeviceId", "dstDeviceId"};

constexpr std::array measured{&tables::metric,
                              &tables::metric_group,
                              &schema::MetricRange::table,
                              &schema::MetricValue::table,
                              &schema::NvprofEventRow::table,
                              &schema::NvprofMetricRow::table,
                              &tables::pc_sampling,
                              &tables::pc_sampling_record_info,
                              &tables::source_locator,
                              &tables::pc_stall_reason,
                              &tables::sass_metric,
                              &tables::sass_instruction,
                              &tables::sass_value,
                              &tables::global_access,
                              &tables::branch,
                              &tables::instruction_execution,
                              &tables::shared_access};
constexpr std::array on_demand{&schema::NcclOperation::table, &schema::NcclNode::table,
                               &schema::HostSample::table, &schema::CpuSample::table,
                               &schema::GraphNode::table};
constexpr std::array of_the_run{&tables::process, &tables::clock, &tables::statistic,
                                &tables::diagnostic, &tables::nvtx_payload_entry};

constexpr std::int64_t pm_metrics = schema::pm_values_per_row;
constexpr std::array numbered{
    NumberedTable{&tables::metric, schema::row_id, true},
    NumberedTable{&tables::metric_group, schema::row_id, true},
    NumberedTable{&schema::MetricRange::table, schema::row_id, false},
    NumberedTable{&schema::PmMetric::table, schema::row_id, true, pm_metrics},
    NumberedTable{&tables::pc_stall_reason, "id", true},
    NumberedTable{&tables::sass_metric, "id", true},
    NumberedTable{&tables::sass_instruction, "id", false},
    NumberedTable{&tables::source_locator, "id", false},
};
constexpr std::array references{
    RowNumber{&schema::MetricRange::table, "passGroup", &tables::metric_group},
    RowNumber{&schema::MetricValue::table, "range", &schema::MetricRange::table},
    RowNumber{&schema::MetricValue::table, "metric", &tables::metric},
    RowNumber{&schema::PmMetric::table, "part", &schema::PmMetric::table, pm_metrics},
    RowNumber{&schema::PmSample::table, "part", &schema::PmMetric::table, pm_metrics},
    RowNumber{&tables::pc_sampling, "sourceLocatorId", &tables::source_locator},
    RowNumber{&tables::pc_sampling, "stallReasonId", &tables::pc_stall_reason},
    RowNumber{&tables::sass_instruction, "sourceLocatorId", &tables::source_locator},
    RowNumber{&tables::sass_value, "instructionId", &tables::sass_instruction},
    RowNumber{&tables::sass_value, "metricId", &tables::sass_metric},
    RowNumber{&tables::global_access, "sourceLocatorId", &tables::source_locator},
    RowNumber{&tables::branch, "sourceLocatorId", &tables::source_locator},
    RowNumber{&tables::instruction_execution, "sourceLocatorId", &tables::source_locator},
    RowNumber{&tables::shared_access, "sourceLocatorId", &tables::source_locator},
};
// Those of the rows themselves, and references.
constexpr auto row_numbers = [] {
  std::array<RowNumber, numbered.size() + references.size()> all{};
  auto* next = all.data();
  for (const NumberedTable& each : numbered) *next++ = {each.table, each.column, each.table, 1};
  std::ranges::copy(references, next);
  return all;
}();

template <std::size_t N>
constexpr bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

const RowNumber* number_of(const Table& table, std::string_view column) {
  const auto* const found = std::ranges::find_if(row_numbers, [&](const RowNumber& each) {
    return each.table == &table && each.column == column;
  });
  return found == row_numbers.end() ? nullptr : &*found;
}

std::span<const NumberedTable> numbered_tables() { return numbered; }

ColumnRule rule_of(const Table& table, const Column& column) {
  const std::string_view name = column.name;
  if (number_of(table, name)) return ColumnRule::row_number;
  if (name == schema::row_id) return ColumnRule::omitted;
  if (column.type == schema::Type::string) return ColumnRule::string;
  if (name == "correlationId" || column.role == schema::Role::correlation ||
      column.role == schema::Role::correlation_or_null) {
    return ColumnRule::correlation;
  }
  if (&table == &tables::process && name == "number") return ColumnRule::number;
  if (is_one_of(processes, name)) return ColumnRule::process;
  if (is_one_of(devices, name) || (reading::kind_of(table.name) == "DEVICE" && name == "id"))
    return ColumnRule::device;
  if (reading::kind_of(table.name) == "UNIFIED_MEMORY_COUNTER" &&
      (name == "srcId" || name == "dstId")) {
    return ColumnRule::device_or_host;
  }
  if (name == "objectId") return ColumnRule::object;
  const bool is_time = column.unit == "ns" && is_one_of(times, name);
  return is_time && &table != &tables::diagnostic ? ColumnRule::time : ColumnRule::copied;
}

std::vector<const Table*> merged_tables() {
  std::vector<const Table*> found;
  for (const schema::KindRef& kind : schema::kinds) found.push_back(kind.table);
  const auto add = [&](const auto& tables) {
    found.insert(found.end(), tables.begin(), tables.end());
  };
  add(schema::collected_tables);
  add(measured);
  add(schema::sampled_tables);
  add(on_demand);
  add(of_the_run);
  return found;
}

bool is_on_demand(const Table& table) {
  return std::ranges::find(on_demand, &table) != on_demand.end();
}

}  // namespace gpuprof::merging
