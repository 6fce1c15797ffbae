#include "libprof/view/model/model.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/read/palette.hpp"
#include "libprof/read/window.hpp"
#include "libprof/view/model/reading.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

void find_losses(Reading& reading, Model& model) {
  if (reading.tables.has("STATISTIC", "severity") && reading.tables.has("STATISTIC", "processId")) {
    auto rows = reading.database.prepare(
        "SELECT s.value, s.name, s.kind, d.help FROM main.STATISTIC AS s "
        "LEFT JOIN main.STATISTIC_DOC AS d ON d.name = s.name "
        "WHERE s.value > 0 AND s.severity IN ('data_loss', 'error') LIMIT 100");
    while (rows.step()) {
      std::string text = std::to_string(rows.integer(0)) + " " + std::string(rows.text(1));
      if (!rows.text(2).empty()) text += " of " + std::string(rows.text(2));
      if (!rows.text(3).empty()) text += ": " + std::string(rows.text(3));
      model.losses.push_back(std::move(text));
    }
  }
  if (model.without_times > 0) {
    model.losses.push_back(std::to_string(model.without_times) +
                           " records of GPU work have no times and are not drawn");
  }
  if (model.ranges_missing) {
    model.losses.emplace_back("NVTX ranges are not drawn: the file has nothing but their ends");
  }
  for (const Track& track : model.tracks) {
    if (track.left_out == 0) continue;
    model.losses.push_back(std::to_string(track.left_out) + " " + std::string(noun_of(track.kind)) +
                           " of " + track.path.back() +
                           " overlap with too many others to be drawn");
  }
}

void find_window(Model& model) {
  bool any = false;
  const auto take = [&](std::int64_t begin, std::int64_t end) {
    model.begin = any ? std::min(model.begin, begin) : begin;
    model.end = any ? std::max(model.end, end) : end;
    any = true;
  };
  for (const Track& track : model.tracks) {
    model.records += track.records;
    for (const auto& row : track.rows) take(row->begin(0), row->end(row->size() - 1));
    if (!track.counter.time.empty()) take(track.counter.time.front(), track.counter.time.back());
  }
  if (any && model.end == model.begin) ++model.end;
}

bool has_markers_alone(Reading& reading) {
  const std::string markers = reading::table_name("MARKER");
  return !reading.tables.has("NVTX_RANGE", "stop") && reading.tables.has(markers) &&
         reading.database.integer("SELECT 1 FROM main." + markers + " LIMIT 1").has_value();
}

// Devices first. Tracks of one device and process, or of one process, are adjacent.
void put_in_order(std::vector<Track>& tracks) {
  std::map<std::vector<std::string>, std::size_t> groups;
  for (const Track& track : tracks) {
    groups.try_emplace({track.path.begin(), track.path.end() - 1}, groups.size());
  }
  std::ranges::stable_sort(tracks, {}, [&](const Track& track) {
    const std::vector<std::string> group(track.path.begin(), track.path.end() - 1);
    return std::tuple(track.device < 0, groups.at(group), track.kind);
  });
}

}  // namespace

std::string why_empty(store::Database& database, const Model& model) {
  if (model.records > 0) return {};
  if (model.without_times > 0) {
    return "none of its " + std::to_string(model.without_times) + " records of GPU work has a time";
  }
  reading::Tables tables(database);
  if (!tables.has("PROCESS", "cupti_version")) return {};
  return database.integer("SELECT 1 FROM main.PROCESS WHERE cupti_version NOT NULL LIMIT 1")
             ? "no CUDA activity was recorded"
             : "no process of this run used CUDA";
}

Window window_of(const Model& model) { return {model.begin, std::max(model.end, model.begin + 1)}; }

std::string_view noun_of(TrackKind kind) {
  switch (kind) {
    case TrackKind::stream: return "records of GPU work";
    case TrackKind::range_on_gpu:
    case TrackKind::range: return "ranges";
    case TrackKind::counter: return "values";
    case TrackKind::api: return "calls";
    case TrackKind::synchronization: return "synchronizations";
    case TrackKind::overhead: return "records of overhead";
  }
  return "";
}

std::uint32_t Reading::name(const std::string& text, const Labels::Label& label) {
  const auto [place, is_new] =
      known_.try_emplace(text, static_cast<std::uint32_t>(model.names.size()));
  if (is_new) {
    model.names.push_back({.text = text,
                           .label = label.display.empty() ? text : label.display,
                           .function = label.function,
                           .communicates = label.communicates});
  }
  return place->second;
}

bool communicates(const Name& name) {
  return name.communicates.value_or(
      schema::is_communication_kernel(name.function.empty() ? name.text : name.function));
}

std::string color_of(const Name& name) {
  return reading::color_of_work(name.function.empty() ? name.text : name.function,
                                name.communicates);
}

std::uint8_t Reading::table(const timeline::RecordTable& table) {
  const auto found = std::ranges::find(model.tables, table.name);
  if (found != model.tables.end()) {
    return static_cast<std::uint8_t>(found - model.tables.begin());
  }
  model.tables.push_back(table.name);
  model.compute.push_back(table.computes);
  return static_cast<std::uint8_t>(model.tables.size() - 1);
}

std::string Reading::thread(std::int64_t id) const {
  const std::string* given = names.thread(id);
  return given ? *given : "thread " + std::to_string(id);
}

Model read_model(store::Database& database, const std::function<void(std::string_view)>& check,
                 std::vector<Name> names, const std::function<void(Model)>& show_work) {
  Model model;
  model.names = std::move(names);
  Reading reading(database, model, check);
  model.zero = reading::zero_of_run(reading.tables).value_or(0);
  model.ranges_missing = has_markers_alone(reading);
  model.account = report::stored_account(database);
  const std::vector<timeline::RecordTable> tables = timeline::record_tables(database);
  std::optional<StoredTracks> stored = open_stored_tracks(reading, tables);
  AllMadeTracks made;
  const auto complete = [&](Model& read) {
    find_window(read);
    find_losses(reading, read);
    put_in_order(read.tracks);
  };
  // NVTX ranges come last: the open ones end with everything else.
  for (const TrackKind kind :
       {TrackKind::stream, TrackKind::range_on_gpu, TrackKind::counter, TrackKind::api,
        TrackKind::synchronization, TrackKind::overhead, TrackKind::range}) {
    if (kind == TrackKind::counter) {
      read_counters(reading);
      if (!stored) made.push_back(std::make_unique<MadeTracks>(std::exchange(model.tracks, {})));
    } else if (stored) {
      add_stored_tracks(reading, kind, *stored);
    } else {
      read_record_tracks(reading, kind, tables, made);
      if (kind != TrackKind::stream || !show_work) continue;
      take_tracks(made, model);
      Model work = model;  // the rows are shared
      complete(work);
      show_work(std::move(work));
      made.push_back(std::make_unique<MadeTracks>(std::exchange(model.tracks, {})));
    }
  }
  take_tracks(made, model);
  if (stored) {
    model.whole = std::move(stored->whole);
    model.blocks = std::move(stored->blocks);
  }
  complete(model);
  return model;
}

}  // namespace gpuprof::view
