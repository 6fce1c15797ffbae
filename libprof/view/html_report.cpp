#include <nlohmann/json.hpp>
#include <numeric>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/view/answers.hpp"
#include "libprof/view/pages.hpp"
#include "libprof/view/report.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_tracks_shown = 300;
constexpr std::size_t most_tile_bytes = 3'500'000, most_name_bytes = 600'000;
constexpr std::size_t longest_name = 400;  // bytes
constexpr std::size_t most_top_names = 50, most_untimed = 20;

// Modules of the page, each after those that it takes from. Without sql.js: nobody answers.
constexpr const char* modules[] = {"format.js", "tiles.js", "source.js",  "draw.js", "panel.js",
                                   "links.js",  "jump.js",  "summary.js", "app.js"};

// As one module: nothing is imported any more.
std::string one_script() {
  std::string script;
  for (const char* name : modules) {
    for (const std::string& line : split(find_page(name)->text, '\n')) {
      if (line.starts_with("import ")) continue;
      constexpr std::string_view word = "export ";
      script += line.starts_with(word) ? line.substr(word.size()) : line;
      script += '\n';
    }
  }
  return script;
}

struct Drawn {
  std::string tiles;
  std::uint32_t width = 0;
  std::vector<bool> names;  // that are in it
};

// In as many pixels as find room: the page makes fewer of them.
Drawn draw_whole(const Model& model) {
  std::vector<std::uint32_t> tracks(std::min(model.tracks.size(), most_tracks_shown));
  std::iota(tracks.begin(), tracks.end(), 0);
  const std::int64_t end = std::max(model.end, model.begin + 1);
  Drawn best;
  for (std::uint32_t width = 256; width <= 1u << 28; width *= 4) {
    std::vector<bool> names(model.names.size());
    std::string tiles = tiles_answer(model, tracks, model.begin, end, width, &names);
    if (best.width > 0 && tiles.size() > most_tile_bytes) break;
    best = {std::move(tiles), width, std::move(names)};
  }
  return best;
}

// Of those that are drawn. What finds no room stays without a name.
nlohmann::json names_of(const Model& model, const std::vector<bool>& used) {
  nlohmann::json names = nlohmann::json::object();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const std::string label = shortened(model.names[i].label, longest_name / 4);
    const std::string text = shortened(model.names[i].text, longest_name);
    bytes += label.size() + text.size() + 20;
    if (bytes > most_name_bytes) break;
    names[std::to_string(i)] = {label, text};
  }
  return names;
}

// For a script element: nothing in it can end that.
std::string in_script(std::string text) { return replaced_all(std::move(text), "<", "\\u003c"); }

std::string data_of(const Model& model, const RunSummary& summary) {
  using nlohmann::json;
  const Drawn drawn = draw_whole(model);
  json facts = json::array(), gaps = json::array();
  for (const Detail& fact : summary.facts) {
    facts.push_back({fact.name, shortened(fact.value, longest_name)});
  }
  for (const Gap& gap : summary.gaps) {
    gaps.push_back({{"at", gap.begin},
                    {"time", gap.time},
                    {"behind", shortened(gap.behind, longest_name)},
                    {"call", shortened(gap.call, longest_name)}});
  }
  const std::int64_t end = std::max(model.end, model.begin + 1);
  std::string text = "{\"from\":" + std::to_string(saturating_subtract(model.begin, model.zero));
  text += ",\"to\":" + std::to_string(saturating_subtract(end, model.zero));
  text += ",\"width\":" + std::to_string(drawn.width);
  text += ",\"run\":" + run_answer(model, summary.title, summary.notes, 1, {}, most_tracks_shown);
  text += ",\"statistics\":" + statistics_answer(model, model.begin, end, most_top_names);
  const auto replace = json::error_handler_t::replace;
  text += ",\"facts\":" + facts.dump(-1, ' ', false, replace);
  text += ",\"gaps\":" + gaps.dump(-1, ' ', false, replace);
  text += ",\"untimed\":" + untimed_answer(summary.untimed, most_untimed);
  text += ",\"names\":" + names_of(model, drawn.names).dump(-1, ' ', false, replace);
  text += ",\"tiles\":" + drawn.tiles + "}";
  return in_script(std::move(text));
}

}  // namespace

std::string html_report(const Model& model, const RunSummary& summary) {
  std::string page(find_page("index.html")->text);
  const auto put = [&](std::string_view what, const std::string& by) {
    const std::size_t at = page.find(what);
    if (at == page.npos) throw Error("the page lacks: " + std::string(what));
    page.replace(at, what.size(), by);
  };
  put("<!doctype html>", std::string(html_begins));
  put("<meta charset=\"utf-8\">",
      "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src "
      "'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri "
      "'none'; form-action 'none'\">");
  put("<link rel=\"stylesheet\" href=\"style.css\">",
      "<style>\n" + std::string(find_page("style.css")->text) + "</style>");
  put("<script type=\"module\" src=\"app.js\"></script>",
      "<script type=\"application/json\" id=\"data\">" + data_of(model, summary) +
          "</script>\n<script type=\"module\">\n" + one_script() + "</script>");
  if (page.size() > most_html_bytes) {
    throw Error("the report would have " + std::to_string(page.size()) + " bytes",
                "gpuprof slice makes a part of the run", ExitCode::output_failed);
  }
  return page;
}

}  // namespace gpuprof::view
