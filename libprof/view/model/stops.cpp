#include "libprof/view/model/stops.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/read/step_times.hpp"
#include "libprof/view/model/first_view.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/model/reading.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

constexpr std::string_view no_call = "no CUDA call", launching = "launching work",
                           launched = "work was launched";

// The parts of a gap of that length, longest first; they add up to it. `parts`: those that are
// known.
std::vector<HostPart> host_parts(std::int64_t length, std::vector<HostPart> parts) {
  for (HostPart& part : parts) {
    part.time = std::clamp<std::int64_t>(part.time, 0, length);
    length -= part.time;
  }
  parts.push_back({"other CUDA calls", length});
  std::erase_if(parts, [](const HostPart& part) { return part.time == 0; });
  std::ranges::stable_sort(parts, std::greater{}, &HostPart::time);
  return parts;
}

// The track that draws the range.
std::int64_t track_of_range(const Model& model, std::int64_t begin, std::int64_t id) {
  for (std::size_t t = 0; t < model.tracks.size(); ++t) {
    if (model.tracks[t].kind != TrackKind::range) continue;
    for (const auto& row : model.tracks[t].rows) {
      const TrackRow::Places places = row->within(begin, saturating_add(begin, 1));
      for (std::size_t i = places.first; i < places.end; ++i) {
        const Item item = (*row)[i];
        if (item.begin == begin && item.id == id) return static_cast<std::int64_t>(t);
      }
    }
  }
  return -1;
}

void find_steps(store::Database& database, const Model& model, const Window& window, Stops& stops) {
  reading::Tables tables(database);
  if (!tables.has("STEP", "range") || !tables.has("STEP", "stop")) return;
  stops.median_step =
      database
          .integer(
              "SELECT stop - start FROM main.STEP WHERE stop > 0 ORDER BY stop - start "
              "LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM main.STEP WHERE stop > 0)")
          .value_or(0);
  reading::Names names(database, reading::NameStyle::modern);
  auto rows = database.prepare(
      "SELECT start, stop, name, range FROM main.STEP WHERE stop > 0 AND stop > ?1 AND start < ?2 "
      "ORDER BY stop - start DESC, start LIMIT ?3");
  rows.bind(1, window.from).bind(2, window.to).bind(3, std::int64_t{most_stops});
  while (rows.step()) {
    const std::int64_t start = rows.integer(0), stop = rows.integer(1);
    if (!timeline::has_times(TrackKind::range, start, stop)) continue;
    stops.steps.push_back(
        {.begin = saturating_subtract(start, model.zero),
         .time = stop - start,
         .name = rows.integer(2) ? names.text(rows.integer(2)) : std::string("cudaProfilerStart"),
         .track = track_of_range(model, start, rows.integer(3))});
  }
}

void find_step_begins(store::Database& database, const Model& model, Stops& stops) {
  reading::Tables tables(database);
  for (const char* column : {"start", "stop", "processId"}) {
    if (!tables.has("STEP", column)) return;
  }
  auto rows =
      database.prepare("SELECT start FROM main.STEP WHERE stop > start AND " +
                       std::string(reading::is_of_main_process) + " ORDER BY start LIMIT ?1");
  for (rows.bind(1, most_begins); rows.step();) {
    stops.step_begins.push_back(saturating_subtract(rows.integer(0), model.zero));
  }
  const std::int64_t first = saturating_subtract(stops.first_view.from, model.zero);
  const auto steady = std::ranges::lower_bound(stops.step_begins, first);
  if (steady != stops.step_begins.end() && *steady == first) {
    stops.steady_step = steady - stops.step_begins.begin() + 1;
  }
}

void find_timed_losses(store::Database& database, const Model& model, const Window& window,
                       Stops& stops) {
  reading::Tables tables(database);
  if (!tables.has("PM_GAP", "reason") || !tables.has("PM_GAP", "stop")) return;
  auto rows = database.prepare(
      "SELECT start, coalesce(stop, ?1), deviceId, reason, stop IS NULL FROM main.PM_GAP "
      "WHERE coalesce(stop, ?1) > ?2 AND start < ?3 "
      "ORDER BY coalesce(stop, ?1) - start DESC, start LIMIT ?4");
  rows.bind(1, model.end).bind(2, window.from).bind(3, window.to);
  rows.bind(4, std::int64_t{most_stops});
  while (rows.step()) {
    const std::int64_t start = rows.integer(0), stop = rows.integer(1);
    if (!timeline::has_times(TrackKind::range, start, stop)) continue;
    std::string text = "no PM samples";
    if (rows.integer(4)) text += " any more";
    if (rows.text(3) == "overflow") text += ": the GPU's buffer for them was full";
    if (rows.text(3) == "missing") text += ": CUPTI delivered none";
    stops.losses.push_back({.begin = saturating_subtract(start, model.zero),
                            .time = stop - start,
                            .device = rows.integer(2),
                            .text = std::move(text)});
  }
}

}  // namespace

std::string_view Gap::cause() const {
  if (host.empty()) return "unknown";
  const std::string& name = host.front().name;
  return name == no_call     ? "no-call"
         : name == launching ? "launch"
         : name == launched  ? "queued"
                             : "call";
}

HostCalls host_calls(reading::Tables& tables, reading::Names& names, const Window& window,
                     std::int64_t most) {
  HostCalls calls;
  for (const schema::ApiKind& kind : schema::api_kinds) {
    const std::string table = reading::table_name(kind.kind);
    if (!tables.has(table, "correlationId") || !tables.has(table, "cbid")) continue;
    auto rows =
        tables.database().prepare("SELECT correlationId, cbid FROM main." + table +
                                  " WHERE correlationId IN (SELECT hostCall FROM main.GPU_GAP "
                                  "WHERE stop > ?1 AND start < ?2 "
                                  "ORDER BY stop - start DESC, start LIMIT ?3)");
    rows.bind(1, window.from).bind(2, window.to).bind(3, most);
    while (rows.step()) {
      const auto [call, is_new] = calls.try_emplace(rows.integer(0));
      if (is_new) call->second = names.api(reading::domain_of(kind), rows.integer(1));
    }
  }
  return calls;
}

std::vector<Gap> longest_gaps(store::Database& database, const Model& model, const Window& window,
                              int most) {
  std::vector<Gap> gaps;
  reading::Tables tables(database);
  if (!tables.has("GPU_GAP", "hostCall") || !tables.has("GPU_GAP", "nameBehind")) return gaps;
  // Files of older versions lack some columns.
  const auto column = [&](const std::string& name) {
    return ", " + (tables.has("GPU_GAP", name) ? name : "NULL");
  };
  reading::Names names(database, reading::NameStyle::modern);
  Labels labels(tables);
  const auto calls = host_calls(tables, names, window, most);
  auto rows = database.prepare(
      "SELECT start, stop, deviceId, nameBehind, typeBehind, hostCall, hostTime" +
      column("noCallTime") + column("launchTime") + column("queuedTime") +
      " FROM main.GPU_GAP WHERE stop > ?1 AND start < ?2 ORDER BY stop - start DESC, start LIMIT "
      "?3");
  rows.bind(1, window.from).bind(2, window.to).bind(3, std::int64_t{most});
  while (rows.step()) {
    const std::int64_t start = rows.integer(0), stop = rows.integer(1), name = rows.integer(3);
    if (!timeline::has_times(TrackKind::range, start, stop)) continue;
    Gap gap{.begin = saturating_subtract(start, model.zero),
            .time = stop - start,
            .device = rows.integer(2),
            .behind = name ? labels.find(name).display : std::string(rows.text(4)),
            .host = {}};
    if (name && gap.behind.empty()) gap.behind = names.kernel(name);
    const auto call = calls.find(rows.integer(5));
    if (!rows.is_null(7)) {
      const bool is_known = call != calls.end() && !call->second.empty();
      gap.host = host_parts(gap.time, {{std::string(no_call), rows.integer(7)},
                                       {std::string(launching), rows.integer(8)},
                                       {std::string(launched), rows.integer(9)},
                                       {is_known ? call->second : std::string("other CUDA calls"),
                                        is_known ? rows.integer(6) : 0}});
    }
    gaps.push_back(std::move(gap));
  }
  return gaps;
}

Stops find_stops(store::Database& database, const Model& model, const Window& window,
                 int most_gaps) {
  Stops stops;
  stops.gaps = longest_gaps(database, model, window, most_gaps);
  find_steps(database, model, window, stops);
  find_timed_losses(database, model, window, stops);
  stops.first_view = find_first_view(database, model, stops);
  find_step_begins(database, model, stops);
  return stops;
}

Occurrence find_step(const Model& model, const Stops& stops, std::int64_t number) {
  Occurrence found{.count = std::ssize(stops.step_begins), .begin = {}};
  if (number >= 1 && number <= found.count) {
    const std::int64_t begin = stops.step_begins[static_cast<std::size_t>(number - 1)];
    found.begin = saturating_add(begin, model.zero);
  }
  return found;
}

}  // namespace gpuprof::view
