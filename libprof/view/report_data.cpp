// The data of a report.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/view/answers.hpp"
#include "libprof/view/levels.hpp"
#include "libprof/view/packed.hpp"
#include "libprof/view/report.hpp"

namespace gpuprof::view {
namespace {

using nlohmann::json;

// Of tracks; with all records as many as run_answer() tells of.
constexpr std::size_t most_tracks_shown = 300, most_tracks = 4096;
constexpr std::size_t most_level_bytes = 4'000'000, most_name_bytes = 1'500'000;
constexpr std::size_t room_for_the_rest = 1'000'000;  // beside all records
constexpr std::size_t longest_drawn_name = 400;       // bytes
constexpr std::size_t most_top_names = 50, most_names_of_a_stop = 20, most_untimed = 20;

// Of those that are drawn. What finds no room stays without a name.
json drawn_names(const Model& model, const std::vector<bool>& used) {
  json names = json::object();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const std::string label = shortened(model.names[i].label, longest_drawn_name / 4);
    const std::string text = shortened(model.names[i].text, longest_drawn_name);
    bytes += label.size() + text.size() + 20;
    if (bytes > most_name_bytes) break;
    names[std::to_string(i)] = {label, text};
  }
  return names;
}

// Of the gaps and steps whose records are in the report.
std::string statistics_of_stops(const Model& model, const Stops& stops) {
  std::string text;
  const auto add = [&](std::int64_t at, std::int64_t time) {
    const std::int64_t from = saturating_add(at, model.zero), to = saturating_add(from, time);
    if (from >= to) return;
    if (!text.empty()) text += ',';
    text += statistics_answer(model, from, to, most_names_of_a_stop);
  };
  for (std::size_t i = 0; i < longest_in_full; ++i) {
    if (i < stops.gaps.size()) add(stops.gaps[i].begin, stops.gaps[i].time);
    if (i < stops.steps.size()) add(stops.steps[i].begin, stops.steps[i].time);
  }
  return "[" + text + "]";
}

std::string element(const std::string& id, const std::string& text) {
  return "<script type=\"text/plain\" id=\"" + id + "\">" + text + "</script>\n";
}

}  // namespace

std::string report_data(const Model& model, const RunSummary& summary, bool all_records) {
  const std::size_t tracks = all_records ? most_tracks : most_tracks_shown;
  Levels levels = all_records
                      ? draw_all(model, tracks, most_bytes_with_all_records - room_for_the_rest)
                      : draw_levels(model, summary.stops, tracks, most_level_bytes);
  json facts = json::array(), shown = json::array();
  for (const Detail& fact : summary.facts) {
    facts.push_back({fact.name, shortened(fact.value, longest_drawn_name)});
  }
  for (const Level& level : levels.all) {
    shown.push_back({{"from", saturating_subtract(level.from, model.zero)},
                     {"to", saturating_subtract(level.to, model.zero)},
                     {"width", level.width}});
  }
  std::vector<std::string> notes = summary.notes;
  if (levels.without_room > 0) {
    notes.push_back("the records of " + std::to_string(levels.without_room) +
                    " of the longest gaps and steps found no room");
  }
  const std::int64_t end = std::max(model.end, model.begin + 1);
  std::string text = "{\"run\":" + run_answer(model, summary.title, notes, 1, {}, tracks);
  text += ",\"statistics\":" + statistics_answer(model, model.begin, end, most_top_names);
  text += ",\"of_stops\":" + statistics_of_stops(model, summary.stops);
  text += ",\"stops\":" + stops_answer(model, summary.stops);
  text += ",\"untimed\":" + untimed_answer(summary.untimed, most_untimed);
  text += ",\"facts\":" + json_text(facts);
  text += ",\"names\":" + json_text(drawn_names(model, levels.names));
  text += ",\"levels\":" + json_text(shown) + "}";
  std::string elements = element("data", packed(text));
  for (std::size_t i = 0; i < levels.all.size(); ++i) {
    elements += element("level" + std::to_string(i), levels.all[i].text);
    levels.all[i].text = {};
  }
  return elements;
}

}  // namespace gpuprof::view
