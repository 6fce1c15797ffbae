// Answers by request path.
#include <array>
#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/name_search.hpp"
#include "libprof/view/model/stored_row.hpp"
#include "libprof/view/page/comparison.hpp"
#include "libprof/view/page/pages.hpp"
#include "libprof/view/server/server.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_numbers = 1024;    // in one list of a request
constexpr std::int64_t widest_window = 8192;  // pixels
constexpr std::size_t most_names = 1000;      // per kind, in statistics
constexpr std::size_t most_gaps_of_a_window = 300;
constexpr std::string_view one_run = "there is one run: gpuprof view FILE OTHER shows two";

Response bad(std::string_view why) { return {.status = 400, .body = error_answer(why)}; }

// "0,1,5"
std::vector<std::uint32_t> numbers(std::string_view text) {
  std::vector<std::uint32_t> result;
  for (const std::string& word : split(text, ',')) {
    Request one;
    one.query["n"] = word;
    const auto number = one.number("n");
    if (number && *number >= 0 && *number <= UINT32_MAX && result.size() < most_numbers) {
      result.push_back(static_cast<std::uint32_t>(*number));
    }
  }
  return result;
}

// `shift`: how much later the model's times are displayed. `prefix`: of the parameters' names.
std::optional<Window> window(const Model& model, const Request& request, std::int64_t shift = 0,
                             const std::string& prefix = "") {
  const auto from = request.number(prefix + "from"), to = request.number(prefix + "to");
  if (!from || !to) return std::nullopt;
  const std::int64_t zero = saturating_subtract(model.zero, shift);
  const Window asked{saturating_add(*from, zero), saturating_add(*to, zero)};
  if (asked.from >= asked.to) return std::nullopt;
  return asked;
}

// A slow answer: what it is, why there is none, or that a later one ended it, and the page asks
// again.
Response later_answer(const std::function<std::string()>& answer) {
  try {
    return {.body = answer()};
  } catch (const store::DatabaseError& error) {
    if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
    return {.body = "{\"ended\":true}"};
  } catch (const Error& error) {
    return bad(error.what());
  }
}

// By a part of a name, or by its number.
Response search_names(const Model& model, const Request& request) {
  const auto after = request.number("after"), name = request.number("name");
  if ((request.text("text").empty() && !name) || !after) {
    return bad("text or name is needed, and after");
  }
  try {
    std::vector<bool> matches(model.names.size());
    if (!name) {
      matches = names_with(model.names, request.text("text"));
    } else if (*name >= 0 && *name < std::ssize(model.names)) {
      matches[static_cast<std::size_t>(*name)] = true;
    }
    const bool back = request.query.contains("back");
    return {.body = found_answer(model,
                                 search(model, matches, saturating_add(*after, model.zero), back))};
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::bad_option) throw;
    return bad(error.what());
  }
}

}  // namespace

Response Answers::operator()(const Request& request) const {
  std::string_view name = request.path;
  if (name.starts_with("api/")) return api(request);
  if (name.empty()) name = "index.html";
  if (const Page* page = find_page(name)) {
    const std::string_view type = type_of(name);
    if (type != type_of("app.js")) return {.type = type, .body = std::string(page->text)};
    // Who imports another module gets the names of the one that is loaded.
    static const std::string script = one_script(false);
    return {.type = type, .body = name == "app.js" ? script : "export * from './app.js';\n"};
  }
  return {.status = 404, .body = error_answer("there is no such page")};
}

Response Answers::api(const Request& request) const {
  const std::string_view what = std::string_view(request.path).substr(4);
  if (what == "reading") return {.body = "{}"};  // nothing; see opening_runs.hpp
  if (what == "growth") return {.body = growth_answer(growth_)};
  if (what == "names") {
    return {.body = names_answer(runs_.back()->model, numbers(request.text("ids")))};
  }
  const auto asked_run = request.query.contains("run") ? request.number("run") : 0;
  if (!asked_run || *asked_run < 0 || *asked_run >= std::ssize(runs_)) {
    return bad("there is no such run");
  }
  const Run& run = *runs_[static_cast<std::size_t>(*asked_run)];
  if (what == "sql") return rows(run, request);
  if (const Question question = find_question(what)) {
    return {.later = [&run, question, request](const std::function<bool()>& is_over) {
      return later_answer([&] { return run.answer(question, request, is_over); });
    }};
  }
  const auto version = request.number("version");
  if (version && *version != growth_.version) {
    return {.status = 409, .body = error_answer("the recording has grown meanwhile: ask again")};
  }
  if (what == "differences") return differences(request);
  if (what == "comparison") return comparison(request);
  const Model& model = run.model;
  if (what == "run") {
    return {.body = run_answer(model,
                               {.window = {model.begin, model.end},
                                .first_view = run.stops.first_view,
                                .drawn = model.records,
                                .records = model.stored,
                                .path = run.path},
                               run.title, run.notes, runs_.size(), growth_)};
  }
  if (what == "stops") return {.body = stops_answer(model, run.stops)};
  if (what == "details") return details(run, request);
  const BlockFile::Hold hold(model.blocks.get());
  if (what == "begin") return begin(run, request);
  if (what == "search") return search_names(model, request);
  if (what != "tiles" && what != "statistics" && what != "gaps") {
    return {.status = 404, .body = error_answer("there is no such question")};
  }
  const auto asked = window(model, request);
  if (!asked) return bad("from and to are needed, and from before to");
  if (what == "gaps") {
    return {.body = gaps_answer(model, run.stops, *asked, most_gaps_of_a_window)};
  }
  if (what == "statistics") {
    return {.body = statistics_answer(model, *asked, statistics(model, asked->from, asked->to),
                                      most_names)};
  }
  const auto width = request.number("width");
  if (!width || *width < 1 || *width > widest_window) return bad("width is from 1 to 8192");
  return {.body = tiles_answer(model, numbers(request.text("tracks")), asked->from, asked->to,
                               static_cast<std::uint32_t>(*width))};
}

// Of the nth of a name, or of a step by number. Without both, the first GPU work and the first step
// that is shown.
Response Answers::begin(const Run& run, const Request& request) const {
  const auto nth = request.number("nth"), step = request.number("step");
  if (step && *step > 0) {
    return {.body = occurrence_answer(run.model, find_step(run.model, run.stops, *step))};
  }
  if (!nth) return bad("nth or step is needed");
  const std::string_view name = request.text("name");
  return {.body = occurrence_answer(run.model, find_occurrence(run.model, name, *nth),
                                    name.empty() ? run.stops.steady_step : 0)};
}

// What changed between the runs, or between a time of the first and that of the second.
Response Answers::comparison(const Request& request) const {
  if (runs_.size() != 2) return bad(one_run);
  std::array<std::optional<Window>, 2> parts;
  if (request.query.contains("from")) {
    const auto shift = request.number("shift");
    if (!shift) return bad("shift is needed");
    parts = {window(runs_[0]->model, request), window(runs_[1]->model, request, *shift)};
    if (!parts[0] || !parts[1]) return bad("from and to are needed, and from before to");
  }
  return {.later = [runs = runs_, parts, request](const std::function<bool()>& is_over) {
    return later_answer([&] {
      std::array<ComparedSide, 2> sides;
      for (const std::size_t i : {0, 1}) {
        const Run& run = *runs[i];
        const auto read = [&](const Asked& asked) {
          sides[i] = read_side(asked.database, run.model, run.title, parts[i], asked.check);
          return std::string();
        };
        run.answer(read, request, is_over);
      }
      return json_text(
          comparison_data(sides[0], sides[1], {runs[0]->model.zero, runs[1]->model.zero}));
    });
  }};
}

// In one time of both runs, or with `other_from` and `other_to` in another one of the second.
Response Answers::differences(const Request& request) const {
  if (runs_.size() != 2) return bad(one_run);
  const Model &first = runs_[0]->model, &second = runs_[1]->model;
  const auto shift = request.number("shift");
  if (!shift && !request.query.contains("other_from")) return bad("shift is needed");
  const auto in_first = window(first, request);
  const auto in_second =
      shift ? window(second, request, *shift) : window(second, request, 0, "other_");
  if (!in_first || !in_second) return bad("from and to are needed, and from before to");
  const BlockFile::Hold hold(first.blocks.get()), hold_other(second.blocks.get());
  return {.body = differences_answer(first, *in_first, second, *in_second, most_names)};
}

Response Answers::details(const Run& run, const Request& request) const {
  const Model& model = run.model;
  const auto track = request.number("track"), row = request.number("row");
  const auto number = request.number("item");
  const auto fits = [](const auto& value) { return value && *value >= 0 && *value <= UINT32_MAX; };
  if (!fits(track) || !fits(row) || !fits(number)) return bad("track, row and item are needed");
  const Place place{static_cast<std::uint32_t>(*track), static_cast<std::uint32_t>(*row),
                    static_cast<std::uint32_t>(*number)};
  const auto item = item_at(model, place);
  if (!item) return {.status = 404, .body = error_answer("there is no such record")};
  const auto answer = [&run, place, item = *item]() -> Response {
    return {.body = details_answer(run.model, place, item, run.find_details(place, item))};
  };
  // Stored rows are read by one thread only.
  if (model.blocks) return answer();
  return {.later = [answer](const std::function<bool()>&) { return answer(); }};
}

Response Answers::rows(const Run& run, const Request& request) const {
  const std::string sql(request.text("text"));
  if (sql.empty()) return bad("text is needed");
  return {.later = [&run, sql](const std::function<bool()>& is_over) -> Response {
    try {
      return {.body = run.ask(sql, is_over)};
    } catch (const Error& error) {
      return bad(error.what());
    }
  }};
}

}  // namespace gpuprof::view
