#include "libprof/export/privacy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "schema/database.hpp"
#include "schema/tables.hpp"

namespace gpuprof::exporting {
namespace {

using Place = std::pair<std::string_view, std::string_view>;  // table, column

constexpr std::string_view module_table = "CUPTI_ACTIVITY_KIND_MODULE";
constexpr std::string_view name_table = "CUPTI_ACTIVITY_KIND_NAME";

// Strings, whatever the table. Not among them: files and libraries.
constexpr std::array<std::string_view, 8> strings{
    "name", "domain", "funcName", "varName", "kernelName", "path", "nameBefore", "nameBehind"};

// In a table that CUPTI no longer fills.
constexpr Place old_kernel_name{"CUPTI_ACTIVITY_KIND_CDP_KERNEL", "name"};

constexpr std::array<Place, 10> secrets{{{module_table, "cubin"},
                                         {"CUPTI_ACTIVITY_KIND_MARKER_DATA", "payloadData"},
                                         {"NVTX_PAYLOAD", "textValue"},
                                         {"CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR", "fileName"},
                                         {"PROCESS", "executable"},
                                         {"PROCESS", "command_line"},
                                         {"PROCESS", "job"},
                                         {"PROCESS", "cupti_path"},
                                         {"METRIC_GROUP", "scope"},
                                         {"STACK_FRAME", "module"}}};

constexpr std::array<std::string_view, 18> run_keys{"gpuprof_version",   "schema_version",
                                                    "wire_version",      "operating_system",
                                                    "cpu_count",         "driver_version",
                                                    "t0_realtime_ns",    "t1_realtime_ns",
                                                    "exit_status",       "exit_signal",
                                                    "target_process_id", "finished",
                                                    "not_computed",      "trace_groups",
                                                    "calls_left_out",    "loss",
                                                    "zero_ns",           "step"};

template <std::size_t N>
bool has(const std::array<Place, N>& places, std::string_view table, std::string_view column) {
  return std::ranges::any_of(places, [&](const Place& place) {
    return same_name(place.first, table) && same_name(place.second, column);
  });
}

}  // namespace

Content content_of(std::string_view table, std::string_view column) {
  if (has(secrets, table, column)) return Content::secret;
  if (has(std::array{old_kernel_name}, table, column)) return Content::string;
  const auto known = std::ranges::find_if(
      schema::all_tables, [&](const schema::Table* each) { return same_name(each->name, table); });
  if (known == schema::all_tables.end()) return Content::secret;
  const std::string_view name = schema::current_name(**known, column);
  Content content = Content::secret;
  schema::for_each_column(**known, true, [&](const schema::Column& each) {
    if (!same_name(each.name, name)) return;
    const bool string = each.type == schema::Type::string;
    const bool hidden = string && std::ranges::find(strings, each.name) == strings.end();
    content = hidden ? Content::secret : string ? Content::string : Content::plain;
  });
  return content;
}

std::string_view blank_of(std::string_view table, std::string_view column) {
  if (same_name(table, module_table) && same_name(column, "cubin")) return "x''";
  // nvprof's columns take no NULL, and 0 is no string's id.
  return name_starts_with(table, "CUPTI_") ? "0" : "NULL";
}

std::string rows_that_stay(std::string_view table) {
  if (same_name(table, name_table)) {
    // Devices, contexts and streams, and not processes and threads: CUpti_ActivityObjectKind.
    return "objectKind IN (3, 4, 5)";
  }
  if (!same_name(table, "RUN")) return {};
  std::string keys;
  for (const std::string_view key : run_keys) {
    keys += (keys.empty() ? "'" : ", '") + std::string(key) + "'";
  }
  return "key IN (" + keys + ")";
}

}  // namespace gpuprof::exporting
