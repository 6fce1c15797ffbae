#include "libprof/export/privacy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/legacy.hpp"
#include "schema/session.hpp"

namespace gpuprof::exporting {
namespace {

using Place = std::pair<std::string_view, std::string_view>;  // table, column

constexpr std::string_view module_table = "CUPTI_ACTIVITY_KIND_MODULE";
constexpr std::string_view name_table = "CUPTI_ACTIVITY_KIND_NAME";

// Strings of activity tables, whatever the table. Not among them: files and libraries.
constexpr std::array<std::string_view, 5> strings{"name", "domain", "funcName", "varName",
                                                  "kernelName"};

// Of tables that are no activity's, or that CUPTI no longer fills.
constexpr std::array<Place, 4> other_strings{{{"CUPTI_ACTIVITY_KIND_CDP_KERNEL", "name"},
                                              {"NVTX_RANGE", "name"},
                                              {"NVTX_RANGE", "domain"},
                                              {"METRIC_RANGE", "name"}}};

constexpr std::array<Place, 9> secrets{{{module_table, "cubin"},
                                        {"CUPTI_ACTIVITY_KIND_MARKER_DATA", "payloadData"},
                                        {"NVTX_PAYLOAD", "textValue"},
                                        {"CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR", "fileName"},
                                        {"PROCESS", "executable"},
                                        {"PROCESS", "command_line"},
                                        {"PROCESS", "job"},
                                        {"PROCESS", "cupti_path"},
                                        {"METRIC_GROUP", "scope"}}};

constexpr std::array<std::string_view, 16> run_keys{
    "gpuprof_version",  "schema_version",    "wire_version",
    "operating_system", "cpu_count",         "driver_version",
    "t0_realtime_ns",   "t1_realtime_ns",    "exit_status",
    "exit_signal",      "target_process_id", "finished",
    "trace_groups",     "calls_left_out",    "loss",
    "zero_ns"};

template <std::size_t N>
bool has(const std::array<Place, N>& places, std::string_view table, std::string_view column) {
  return std::ranges::any_of(places, [&](const Place& place) {
    return same_name(place.first, table) && same_name(place.second, column);
  });
}

// "a INT, b INT" has a column a.
bool defines(std::string_view columns, std::string_view column) {
  while (!columns.empty()) {
    if (same_name(columns.substr(0, columns.find(' ')), column)) return true;
    const std::size_t comma = columns.find(", ");
    columns.remove_prefix(comma == columns.npos ? columns.size() : comma + 2);
  }
  return false;
}

Content of_kind(const schema::Table& table, std::string_view column) {
  if (same_name(column, "_id_") || same_name(column, schema::process_column)) return Content::plain;
  const std::string_view name = schema::current_name(table, column);
  const auto found = std::ranges::find_if(
      table.columns, [&](const schema::Column& each) { return same_name(each.name, name); });
  if (found == table.columns.end()) return Content::secret;
  if (found->type != schema::Type::string) return Content::plain;
  return std::ranges::find(strings, found->name) == strings.end() ? Content::secret
                                                                  : Content::string;
}

bool is_known(std::string_view table, std::string_view column) {
  for (const schema::LegacyTable& each : schema::legacy_tables) {
    if (!same_name(each.name, table)) continue;
    return defines(each.columns, column) || same_name(column, "_id_") ||
           same_name(column, schema::process_column);
  }
  for (const schema::SessionTable& each : schema::session_tables) {
    if (!same_name(each.name, table)) continue;
    return std::ranges::any_of(each.columns, [&](const schema::SessionColumn& own) {
      return same_name(own.name, column);
    });
  }
  return false;
}

}  // namespace

Content content_of(std::string_view table, std::string_view column) {
  if (has(secrets, table, column)) return Content::secret;
  if (has(other_strings, table, column)) return Content::string;
  for (const schema::KindRef& kind : schema::kinds) {
    if (same_name(kind.table->name, table)) return of_kind(*kind.table, column);
  }
  return is_known(table, column) ? Content::plain : Content::secret;
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
