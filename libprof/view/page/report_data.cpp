// The embedded data of a report.
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "libprof/base/json_text.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/view/model/account_answer.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/page/advice.hpp"
#include "libprof/view/page/comparison.hpp"
#include "libprof/view/page/levels.hpp"
#include "libprof/view/page/packed.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {
namespace {

using nlohmann::json;

// Limits on tracks; with all records, the limit of run_answer().
constexpr std::size_t most_tracks_shown = 300, most_tracks = 4096;
constexpr std::size_t most_level_bytes = 4'000'000, most_name_bytes = 1'500'000;
constexpr std::size_t room_for_the_rest = 1'000'000;  // in addition to all records
constexpr std::size_t longest_drawn_name = 400;       // bytes
constexpr std::size_t most_top_names = 50, most_names_of_a_stop = 20, most_untimed = 20;
constexpr std::size_t most_drawn_counters = 60;

// Names of drawn records. Those that do not fit are omitted.
json drawn_names(const Model& model, const std::vector<bool>& used) {
  json names = json::object();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const std::string label = shortened(model.names[i].label, longest_drawn_name / 4);
    const std::string text = shortened(model.names[i].text, longest_drawn_name);
    bytes += label.size() + text.size() + 20;
    if (bytes > most_name_bytes) break;
    names[std::to_string(i)] = {label, text, color_of(model.names[i])};
  }
  return names;
}

// Statistics of the gaps and steps whose records are in the report.
std::string statistics_of_stops(const Model& model, const Stops& stops) {
  std::string text;
  const auto add = [&](std::int64_t at, std::int64_t time) {
    const std::int64_t from = saturating_add(at, model.zero), to = saturating_add(from, time);
    if (from >= to) return;
    if (!text.empty()) text += ',';
    text += statistics_answer(model, {from, to}, statistics(model, from, to), most_names_of_a_stop);
  };
  for (std::size_t i = 0; i < longest_in_full; ++i) {
    if (i < stops.gaps.size()) add(stops.gaps[i].begin, stops.gaps[i].time);
    if (i < stops.steps.size()) add(stops.steps[i].begin, stops.steps[i].time);
  }
  return "[" + text + "]";
}

json counters(const Model& model, const RunSummary& summary) {
  json all = json::array();
  for (const CounterSummary& each : summary.counters) {
    if (all.size() == most_drawn_counters) break;
    json points = json::array();
    if (each.tile.before) {
      const double value = *each.tile.before;
      points.push_back({0, value, value, value});
    }
    for (const PointRange& point : each.tile.points) {
      points.push_back({point.x, point.least, point.most, point.last});
    }
    json path = json::array();
    for (const std::string& part : each.track->path) {
      path.push_back(shortened(part, longest_drawn_name));
    }
    all.push_back({{"path", std::move(path)},
                   {"unit", shortened(each.track->counter.unit, longest_drawn_name)},
                   {"least", each.least},
                   {"mean", each.mean},
                   {"most", each.most},
                   {"at", saturating_subtract(each.most_at, model.zero)},
                   {"width", counter_pixels},
                   {"points", std::move(points)}});
  }
  return all;
}

json metrics(const MetricTable& table) {
  json names = json::array(), kernels = json::array();
  for (const std::string& name : table.metrics)
    names.push_back(shortened(name, longest_drawn_name));
  for (const MetricTable::Kernel& kernel : table.kernels) {
    json values = json::array();
    for (const std::string& value : kernel.values) {
      values.push_back(shortened(value, longest_drawn_name));
    }
    kernels.push_back({{"name", shortened(kernel.name, longest_drawn_name)},
                       {"launches", kernel.launches},
                       {"values", std::move(values)}});
  }
  return {{"names", std::move(names)},
          {"kernels", std::move(kernels)},
          {"names_left_out", table.metrics_left_out},
          {"kernels_left_out", table.kernels_left_out}};
}

json ranges(const RangeTable& table) {
  json rows = json::array();
  for (const RangeTable::Row& row : table.rows) {
    rows.push_back({{"name", shortened(row.name, longest_drawn_name)},
                    {"depth", row.depth},
                    {"ranges", row.ranges},
                    {"work", row.work},
                    {"busy", row.busy},
                    {"span", row.span}});
  }
  return {{"rows", std::move(rows)}, {"left_out", table.left_out}};
}

// By kind of track, of all names.
json times_of_work(const Statistics& statistics) {
  std::map<std::string_view, std::uint64_t> times;
  for (const Statistics::Work& work : statistics.work) times[name_of(work.kind)] += work.time;
  return times;
}

std::string element(const std::string& id, const std::string& text) {
  return "<script type=\"text/plain\" id=\"" + id + "\">" + text + "</script>\n";
}

// A page has room for `runs` of them.
Levels levels_of(const Model& model, const RunSummary& summary, bool all_records,
                 std::size_t tracks, std::size_t runs) {
  if (all_records) {
    return draw_all(model, summary.window, tracks,
                    (most_bytes_with_all_records - room_for_the_rest) / runs);
  }
  return draw_levels(model, summary.window, summary.stops, tracks, most_level_bytes / runs);
}

// What the timeline of a run needs, as members of a JSON object.
std::string drawn_run(const Model& model, const RunSummary& summary, const Levels& levels,
                      std::size_t tracks, std::size_t runs) {
  json shown = json::array();
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
  return "\"run\":" +
         run_answer(model,
                    {summary.window, summary.stops.first_view, summary.drawn, summary.records},
                    summary.title, notes, runs, {}, tracks) +
         ",\"begin\":" +
         occurrence_answer(model, find_occurrence(model, "", 1), summary.stops.steady_step) +
         ",\"steps\":" + json_text(steps_data(summary.steps)) +
         ",\"stops\":" + stops_answer(model, summary.stops) +
         ",\"names\":" + json_text(drawn_names(model, levels.names)) +
         ",\"levels\":" + json_text(shown);
}

// The data of a run, and its levels, which are moved from.
std::string run_elements(const std::string& suffix, const std::string& text, Levels& levels) {
  std::string elements = element("data" + suffix, packed(text));
  for (std::size_t i = 0; i < levels.all.size(); ++i) {
    elements += element("level" + std::to_string(i) + suffix, levels.all[i].text);
    levels.all[i].text = {};
  }
  return elements;
}

// The time of a run that is compared.
Window compared_window(const Model& model, const ComparedSide& side) {
  Window window = window_of(model);
  window.from = side.period.window.from.value_or(window.from);
  window.to = side.period.window.to.value_or(window.to);
  return window;
}

// The state of an address: nothing of it means anything in HTML.
std::string encoded(std::string_view state) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (const char c : state) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("%&=+-_.*~").find(c) != std::string_view::npos) {
      text += c;
    } else {
      text += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return text;
}

}  // namespace

std::string report_data(const Model& model, const RunSummary& summary, bool all_records,
                        const OtherRun* other) {
  const std::size_t tracks = all_records ? most_tracks : most_tracks_shown;
  const std::size_t runs = other ? 2 : 1;
  std::string elements;
  if (other) {
    Levels levels = levels_of(other->model, other->drawn, all_records, tracks, runs);
    const std::string text = "{" + drawn_run(other->model, other->drawn, levels, tracks, runs);
    elements += run_elements("-0", text + "}", levels);
  }
  Levels levels = levels_of(model, summary, all_records, tracks, runs);
  json facts = json::array();
  for (const Detail& fact : summary.facts) {
    facts.push_back({fact.name, shortened(fact.value, longest_drawn_name)});
  }
  std::string text = "{" + drawn_run(model, summary, levels, tracks, runs);
  text += ",\"statistics\":" +
          statistics_answer(model, summary.window, summary.statistics, most_top_names);
  text += ",\"account\":" + json_text(account_answer(summary.account));
  text += ",\"whole\":" + json_text(times_of_work(summary.statistics));
  text += ",\"advice\":" + json_text(advice_data(summary));
  text += ",\"counters\":" + json_text(counters(model, summary));
  text += ",\"ranges\":" + json_text(ranges(summary.ranges));
  text += ",\"metrics\":" + json_text(metrics(summary.metrics));
  text += ",\"kernels\":" + summary.kernels + ",\"flames\":" + summary.flames;
  text += ",\"of_stops\":" + statistics_of_stops(model, summary.stops);
  text += ",\"untimed\":" + untimed_answer(summary.untimed, most_untimed);
  if (other) {
    text += ",\"comparison\":" +
            json_text(comparison_data(other->side, other->other, {other->model.zero, model.zero}));
    text += ",\"differences\":" +
            differences_answer(other->model, compared_window(other->model, other->side), model,
                               compared_window(model, other->other), most_top_names);
  }
  text += ",\"facts\":" + json_text(facts) + "}";
  elements += run_elements("", text, levels);
  if (!summary.state.empty()) elements += element("state", encoded(summary.state));
  return elements;
}

}  // namespace gpuprof::view
