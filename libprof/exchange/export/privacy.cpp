#include "libprof/exchange/export/privacy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "libprof/store/sqlite.hpp"
#include "schema/database.hpp"
#include "schema/enums.hpp"
#include "schema/tables.hpp"

namespace gpuprof::exporting {
namespace {

using Place = std::pair<std::string_view, std::string_view>;  // table, column

constexpr std::string_view module_table = "CUPTI_ACTIVITY_KIND_MODULE";
constexpr std::string_view name_table = "CUPTI_ACTIVITY_KIND_NAME";

// Columns with strings, in any table. Files and libraries are not among them.
constexpr std::array<std::string_view, 8> strings{
    "name", "domain", "funcName", "varName", "kernelName", "path", "nameBefore", "nameBehind"};

// In a table that CUPTI no longer fills.
constexpr Place old_kernel_name{"CUPTI_ACTIVITY_KIND_CDP_KERNEL", "name"};

// Columns without texts of the database: the contents of modules and payloads.
constexpr std::array<Place, 2> secrets{
    {{module_table, "cubin"}, {"CUPTI_ACTIVITY_KIND_MARKER_DATA", "payloadData"}}};

// Texts that stay. `sql` for words: the valid ones, or what replaces the text.
struct TextRule {
  std::string_view table, column;
  Content content = Content::text;
  std::string_view sql = {};
};
constexpr std::string_view severities = "'info', 'notice', 'data_loss', 'error'";
constexpr TextRule texts[]{
    // Names that the excerpt is meant to show.
    {"StringTable", "value"},
    {"StringTable", "demangled"},
    {"StringTable", "short"},
    {"StringTable", "display"},
    {"NVTX_PAYLOAD", "schema"},
    {"NVTX_PAYLOAD", "field"},
    {"NVTX_PAYLOAD_ENTRY", "schema"},
    {"NVTX_PAYLOAD_ENTRY", "field"},
    {"STACK_FRAME", "function"},
    // What CUPTI says, and what was collected.
    {"METRIC", "name"},
    {"METRIC", "unit"},
    {"METRIC", "description"},
    {"METRIC", "formula"},
    {"METRIC_GROUP", "chip"},
    {"METRIC_GROUP", "costClass"},
    {"METRIC_GROUP", "metrics"},
    {"METRIC_GROUP", "counters"},
    {"METRIC_RANGE", "note"},
    {"PM_METRIC", "name"},
    {"PM_METRIC", "unit"},
    {"PM_METRIC", "description"},
    {"PM_METRIC", "formula"},
    {"PM_DEVICE", "chip"},
    {"PM_DEVICE", "leftOut"},
    {"PC_STALL_REASON", "name"},
    {"PC_STALL_REASON", "reason"},
    {"SASS_METRIC", "name"},
    {"SASS_METRIC", "metric"},
    {"SASS_METRIC", "description"},
    // Only rows with known values stay: rows_that_stay().
    {"API_NAME", "domain"},
    {"API_NAME", "name"},
    {"RUN", "key"},
    {"STATISTIC", "kind"},
    {"STATISTIC", "name"},
    // Our own words.
    {"PROCESS", "jobLauncher", Content::words, "'torch', 'openmpi', 'mvapich', 'pmi', 'slurm'"},
    {"CLOCK", "moment", Content::words, "'first', 'last', 'meanwhile'"},
    {"STATISTIC", "severity", Content::words, severities},
    {"DIAGNOSTIC", "severity", Content::words, severities},
    {"DIAGNOSTIC", "statistic", Content::words, "SELECT name FROM main.STATISTIC_DOC"},
    {"NVTX_RANGE", "kind", Content::words, "'push_pop', 'start_end'"},
    {"METRIC_RANGE", "kind", Content::words, "'kernel', 'graph', 'range'"},
    {"METRIC_GROUP", "mode", Content::words, "'application', 'multiplex', 'kernel', 'range'"},
    {"PM_GAP", "reason", Content::words, "'overflow', 'missing'"},
};

// Messages of collectors and gpuprof may name files: the help of the statistic they are about
// replaces them.
constexpr Place said{"DIAGNOSTIC", "text"};
constexpr std::string_view said_anew =
    "coalesce((SELECT help FROM main.STATISTIC_DOC WHERE name = statistic), 'what was said is left "
    "out: it may have named files')";

// The text values in RUN; all others are numbers.
constexpr std::string_view run_texts =
    "'gpuprof_version', 'operating_system', 'driver_version', 'not_computed', 'trace_groups', "
    "'calls_left_out', 'step', 'hw_trace'";

constexpr std::array<std::string_view, 20> run_keys{
    "gpuprof_version", "schema_version", "wire_version",      "operating_system",
    "cpu_count",       "driver_version", "t0_realtime_ns",    "t1_realtime_ns",
    "exit_status",     "exit_signal",    "target_process_id", "finished",
    "not_computed",    "trace_groups",   "calls_left_out",    "loss",
    "zero_ns",         "step",           "hw_trace",          "clock_error_ns"};

template <std::size_t N>
bool has(const std::array<Place, N>& places, std::string_view table, std::string_view column) {
  return std::ranges::any_of(places, [&](const Place& place) {
    return same_name(place.first, table) && same_name(place.second, column);
  });
}

bool is(const Place& place, std::string_view table, std::string_view column) {
  return same_name(place.first, table) && same_name(place.second, column);
}

// Finds a column's definition. False: there is none.
bool find_column(std::string_view table, std::string_view column, schema::Column& found) {
  for (const schema::Table* each : schema::all_tables) {
    if (!same_name(each->name, table)) continue;
    const std::string_view name = schema::current_name(*each, column);
    bool is_there = false;
    schema::for_each_column(*each, true, [&](const schema::Column& known) {
      if (!same_name(known.name, name)) return;
      found = known;
      is_there = true;
    });
    return is_there;
  }
  return false;
}

const TextRule* find_text(std::string_view table, std::string_view column) {
  const auto* found = std::ranges::find_if(texts, [&](const TextRule& each) {
    return same_name(each.table, table) && same_name(each.column, column);
  });
  return found == std::end(texts) ? nullptr : found;
}

// What replaces a secret.
std::string blank_of(std::string_view table, std::string_view column) {
  if (same_name(table, module_table) && same_name(column, "cubin")) return "x''";
  // nvprof's columns do not allow NULL, and 0 is not a string id.
  return name_starts_with(table, "CUPTI_") ? "0" : "NULL";
}

}  // namespace

Content content_of(std::string_view table, std::string_view column) {
  schema::Column known;
  if (!find_column(table, column, known) || has(secrets, table, column)) return Content::secret;
  if (is(old_kernel_name, table, column)) return Content::string;
  switch (known.type) {
    case schema::Type::string:
      return std::ranges::find(strings, known.name) != strings.end() ? Content::string
                                                                     : Content::secret;
    case schema::Type::text:
    case schema::Type::any: {
      if (is(said, table, column)) return Content::words;
      const TextRule* rule = find_text(table, column);
      return rule                              ? rule->content
             : known.type == schema::Type::any ? Content::text
                                               : Content::secret;
    }
    default: return Content::plain;
  }
}

std::string what_stays(std::string_view table, std::string_view column) {
  const std::string name = store::quoted_name(column);
  const auto if_so = [&](const std::string& condition) {
    return "CASE WHEN " + condition + " THEN " + name + " ELSE " + blank_of(table, column) + " END";
  };
  // SQLite allows any value in any column.
  switch (content_of(table, column)) {
    case Content::text:
      if (same_name(table, "RUN") && same_name(column, "value")) {
        return if_so("typeof(value) = 'integer' OR key IN (" + std::string(run_texts) + ")");
      }
      return if_so("typeof(" + name + ") = 'text'");
    case Content::words:
      if (is(said, table, column)) return std::string(said_anew);
      return if_so(name + " IN (" + std::string(find_text(table, column)->sql) + ")");
    case Content::secret: return blank_of(table, column);
    default: break;
  }
  schema::Column known;
  find_column(table, column, known);
  if (known.type != schema::Type::blob && known.type != schema::Type::bytes) {
    return if_so("typeof(" + name + ") NOT IN ('text', 'blob')");
  }
  constexpr std::uint16_t longest = 64;
  const std::uint16_t most =
      known.type == schema::Type::blob && known.width ? known.width : longest;
  return if_so("typeof(" + name + ") IN ('blob', 'null') AND ifnull(length(" + name +
               "), 0) <= " + std::to_string(most));
}

std::string rows_that_stay(std::string_view table) {
  if (same_name(table, name_table)) {
    // Not processes and threads.
    return "objectKind IN (" + std::to_string(schema::object_kind("device")) + ", " +
           std::to_string(schema::object_kind("context")) + ", " +
           std::to_string(schema::object_kind("stream")) + ")";
  }
  if (same_name(table, "STATISTIC")) {
    return "name IN (SELECT name FROM main.STATISTIC_DOC) AND "
           "(kind = '' OR kind IN (SELECT d.text FROM main.TABLE_TEXT AS t JOIN main.DOC_TEXT AS d "
           "ON d.id = t.\"table\"))";
  }
  if (same_name(table, "API_NAME")) {
    return "domain IN ('runtime', 'driver') AND (name GLOB 'cu*' OR name GLOB '__cuda*') AND "
           "name NOT GLOB '*[^A-Za-z0-9_]*'";
  }
  if (!same_name(table, "RUN")) return {};
  std::string keys;
  for (const std::string_view key : run_keys) {
    keys += (keys.empty() ? "'" : ", '") + std::string(key) + "'";
  }
  return "key IN (" + keys + ")";
}

}  // namespace gpuprof::exporting
