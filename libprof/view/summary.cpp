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

}  // namespace

RunSummary summarize(store::Database& database, const Model& model, std::string title,
                     std::span<const std::string> notes) {
  RunSummary summary;
  summary.title = std::move(title);
  summary.notes.assign(notes.begin(), notes.end());
  read_facts(database, summary);
  summary.stops = find_stops(database, model);
  if (model.without_times > 0) {
    summary.untimed = find_untimed(database, [&] { database.check_watch(); });
  }
  return summary;
}

}  // namespace gpuprof::view
