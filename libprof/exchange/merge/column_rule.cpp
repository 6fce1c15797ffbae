#include "libprof/exchange/merge/column_rule.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "libprof/read/tables.hpp"
#include "schema/tables.hpp"

namespace gpuprof::merging {
namespace {

using schema::Column;
using schema::Table;

// All others in ns are durations, or of other clocks.
constexpr std::array<std::string_view, 10> times{"start",     "end",    "stop",      "timestamp",
                                                 "completed", "queued", "submitted", "deviceTime",
                                                 "time",      "cupti"};
constexpr std::array<std::string_view, 4> processes{"processId", "cuProcessId", "poolProcessId",
                                                    "parentProcessId"};
constexpr std::array<std::string_view, 5> devices{"deviceId", "objectDeviceId", "cuDeviceId",
                                                  "srcDeviceId", "dstDeviceId"};

template <std::size_t N>
constexpr bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_collected(const Table& table) {
  return std::ranges::find(schema::collected_tables, &table) != schema::collected_tables.end();
}

}  // namespace

ColumnRule rule_of(const Table& table, const Column& column) {
  const std::string_view name = column.name;
  if (name == schema::row_id) return ColumnRule::omitted;
  if (column.type == schema::Type::string) return ColumnRule::string;
  if (name == "correlationId" || column.role == schema::Role::correlation ||
      column.role == schema::Role::correlation_or_null) {
    return ColumnRule::correlation;
  }
  if (&table == &schema::tables::process && name == "number") return ColumnRule::number;
  if (is_one_of(processes, name)) return ColumnRule::process;
  if (is_one_of(devices, name) || (reading::kind_of(table.name) == "DEVICE" && name == "id"))
    return ColumnRule::device;
  if (reading::kind_of(table.name) == "UNIFIED_MEMORY_COUNTER" &&
      (name == "srcId" || name == "dstId")) {
    return ColumnRule::device_or_host;
  }
  if (name == "objectId") return ColumnRule::object;
  const bool is_time = column.unit == "ns" && is_one_of(times, name);
  return is_time && &table != &schema::tables::diagnostic ? ColumnRule::time : ColumnRule::copied;
}

std::vector<const Table*> merged_tables() {
  std::vector<const Table*> found;
  for (const schema::KindRef& kind : schema::kinds) found.push_back(kind.table);
  found.insert(found.end(), schema::collected_tables.begin(), schema::collected_tables.end());
  for (const Table* table :
       {&schema::tables::process, &schema::tables::clock, &schema::tables::statistic,
        &schema::tables::diagnostic, &schema::tables::nvtx_payload_entry}) {
    found.push_back(table);
  }
  return found;
}

bool is_measured(const Table& table) {
  return table.origin == schema::Origin::own && !is_collected(table);
}

}  // namespace gpuprof::merging
