// The parts of a report other than the timeline.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/read/cost.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/model/flame_answer.hpp"
#include "libprof/view/model/kernel_pages.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/page/levels.hpp"
#include "libprof/view/page/report.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

// Keys of RUN, and their names in a report.
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
  if (const reading::Cost cost = reading::read_cost(database); cost.known()) {
    summary.facts.push_back({"cost", reading::text_of(cost)});
  }
  reading::Names names(database, reading::NameStyle::modern);
  for (const std::int64_t device : names.devices()) {
    if (summary.facts.size() < 32) summary.facts.push_back({"GPU", names.device(device)});
  }
}

std::string shown_time(const Model& model, std::int64_t time) {
  return time_text(static_cast<double>(saturating_subtract(time, model.zero)));
}

Window find_window(store::Database& database, const Model& model, const reading::Moment& from,
                   const reading::Moment& to) {
  reading::Tables tables(database);
  const reading::Window asked = reading::find_window(tables, from, to, [&] { return model.zero; });
  Window window = window_of(model);
  window.from = std::max(window.from, asked.from.value_or(window.from));
  window.to = std::min(window.to, asked.to.value_or(window.to));
  if (window.from >= window.to) {
    throw Error("no record of the run is in that time", "its records are from " +
                                                            shown_time(model, model.begin) +
                                                            " to " + shown_time(model, model.end));
  }
  return window;
}

}  // namespace

std::vector<CounterSummary> summarize_counters(const Model& model, const Window& window) {
  std::vector<CounterSummary> all;
  for (const Track& track : model.tracks) {
    const Counter& counter = track.counter;
    if (track.kind != TrackKind::counter) continue;
    const auto first = std::ranges::upper_bound(counter.time, window.from);
    auto at = static_cast<std::size_t>(first - counter.time.begin());
    if (at > 0) --at;  // the value at the start of the window
    if (at == counter.time.size() || counter.time[at] >= window.to) continue;
    CounterSummary its{.track = &track,
                       .least = counter.value[at],
                       .mean = 0,
                       .most = counter.value[at],
                       .most_at = std::max(counter.time[at], window.from),
                       .tile = make_tile(track, window.from, window.to, counter_pixels)};
    double held = 0;
    for (; at < counter.time.size() && counter.time[at] < window.to; ++at) {
      const double value = counter.value[at];
      its.least = std::min(its.least, value);
      if (value > its.most) {
        its.most = value;
        its.most_at = counter.time[at];
      }
      const std::int64_t until = at + 1 < counter.time.size() ? counter.time[at + 1] : window.to;
      const auto ns = static_cast<double>(
          intervals::length(std::max(counter.time[at], window.from), std::min(until, window.to)));
      its.mean += value * ns;
      held += ns;
    }
    its.mean = held > 0 ? its.mean / held : its.most;
    all.push_back(std::move(its));
  }
  std::ranges::stable_partition(all, [](const CounterSummary& each) {
    return each.track->path[each.track->path.size() - 2] != samples_group;
  });
  return all;
}

RunSummary summarize(store::Database& database, const Model& model, std::string title,
                     std::span<const std::string> notes, const reading::Moment& from,
                     const reading::Moment& to) {
  RunSummary summary;
  summary.title = std::move(title);
  summary.notes.assign(notes.begin(), notes.end());
  summary.is_part = from.given() || to.given();
  summary.window = find_window(database, model, from, to);
  if (summary.is_part) {
    summary.title += ", " + shown_time(model, summary.window.from) + " to " +
                     shown_time(model, summary.window.to);
  }
  summary.drawn = summary.is_part ? count_records(model, summary.window) : model.records;
  summary.records = summary.is_part ? summary.drawn : model.stored;
  read_facts(database, summary);
  reading::Window part;
  if (summary.is_part) part = {summary.window.from, summary.window.to};
  summary.account = model.account && !summary.is_part
                        ? *model.account
                        : report::read_account(database, part, [&] { database.check_watch(); });
  summary.findings = findings::read_findings(database, from, to, [&] { database.check_watch(); });
  summary.steps = read_step_times(database, model, summary.window);
  summary.statistics = statistics(model, summary.window.from, summary.window.to);
  summary.counters = summarize_counters(model, summary.window);
  summary.ranges = read_range_table(database, summary.window);
  summary.metrics = read_metric_table(database);
  summary.stops = find_stops(database, model, summary.window);
  if (model.without_times > 0) {
    summary.untimed = find_untimed(database, [&] { database.check_watch(); });
  }
  return summary;
}

void add_kernels(store::Database& database, RunSummary& summary, const reading::Moment& from,
                 const reading::Moment& to) {
  constexpr std::size_t most_pages = 5, most_kernels_in_paths = 2000;
  const auto check = [&] { database.check_watch(); };
  summary.kernels =
      json_text(kernel_pages(database, {.most = most_pages}, {.from = from, .to = to}, check));
  nlohmann::json flames = nlohmann::json::array();
  for (const compute::PathBy by : {compute::PathBy::ranges, compute::PathBy::stacks}) {
    if (!compute::has_paths(database, by)) continue;
    store::Snapshot snapshot(database);
    flames.push_back(flame_answer(snapshot, by, summary.window, most_kernels_in_paths, check));
  }
  summary.flames = json_text(flames);
}

}  // namespace gpuprof::view
