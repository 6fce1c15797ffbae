// What a report says besides the timeline.
#include <algorithm>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/report.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

constexpr int most_gaps = 10;

// Keys of RUN, and what a report calls them.
constexpr std::pair<const char*, const char*> facts_of_run[] = {
    {"command_line", "command"},  {"working_directory", "in"},    {"exit_status", "exit status"},
    {"host_name", "host"},        {"operating_system", "system"}, {"cpu_count", "CPUs"},
    {"driver_version", "driver"}, {"gpuprof_version", "gpuprof"}, {"trace_groups", "collected"},
};

void read_facts(store::Database& database, RunSummary& summary) {
  reading::Tables tables(database);
  if (tables.has("RUN", "key") && tables.has("RUN", "value")) {
    auto fact = database.prepare("SELECT value FROM main.RUN WHERE key = ?1");
    for (const auto& [key, name] : facts_of_run) {
      fact.bind(1, std::string_view(key));
      if (fact.step() && !fact.text(0).empty()) {
        summary.facts.push_back({name, std::string(fact.text(0))});
      }
      fact.reset();
    }
  }
  reading::Names names(database, reading::NameStyle::modern);
  for (const std::int64_t device : names.devices()) {
    if (summary.facts.size() < 32) summary.facts.push_back({"GPU", names.device(device)});
  }
}

std::string call_named(reading::Tables& tables, reading::Names& names, std::int64_t correlation) {
  for (const schema::ApiKind& calls : schema::api_kinds) {
    const std::string table = reading::table_name(calls.kind);
    if (!tables.has(table, "correlationId") || !tables.has(table, "cbid")) continue;
    auto call = tables.database().prepare("SELECT cbid FROM main." + table +
                                          " WHERE correlationId = ?1 LIMIT 1");
    if (call.bind(1, correlation).step()) {
      return names.api(reading::domain_of(calls), call.integer(0));
    }
  }
  return {};
}

std::string label_of(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.names, name, &Name::text);
  return found == model.names.end() ? name : found->label;
}

void read_gaps(store::Database& database, const Model& model, RunSummary& summary) {
  reading::Tables tables(database);
  if (!tables.has("GPU_GAP", "hostCall") || !tables.has("GPU_GAP", "nameBehind")) return;
  reading::Names names(database, reading::NameStyle::modern);
  auto rows = database.prepare(
      "SELECT start, stop - start, nameBehind, typeBehind, hostCall FROM main.GPU_GAP "
      "ORDER BY stop - start DESC, start LIMIT " +
      std::to_string(most_gaps));
  while (rows.step()) {
    Gap gap;
    gap.begin = saturating_subtract(rows.integer(0), model.zero);
    gap.time = rows.integer(1);
    gap.behind = rows.integer(2) ? label_of(model, names.kernel(rows.integer(2)))
                                 : std::string(rows.text(3));
    if (rows.integer(4) != 0) gap.call = call_named(tables, names, rows.integer(4));
    summary.gaps.push_back(std::move(gap));
  }
}

}  // namespace

RunSummary summarize(store::Database& database, const Model& model, std::string title,
                     std::span<const std::string> notes) {
  RunSummary summary;
  summary.title = std::move(title);
  summary.notes.assign(notes.begin(), notes.end());
  read_facts(database, summary);
  read_gaps(database, model, summary);
  return summary;
}

}  // namespace gpuprof::view
