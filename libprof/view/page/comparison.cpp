#include "libprof/view/page/comparison.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/conclude/compare/comparison.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/words.hpp"
#include "libprof/read/palette.hpp"
#include "libprof/report/account.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/page/advice.hpp"

namespace gpuprof::view {
namespace {

using nlohmann::json;

constexpr std::size_t most_compared = 500, longest_name = 400;

json both(double a, double b) { return {a, b}; }

json part_data(const compare::PartChange& part) {
  const report::AccountRow row{.what = part.name.first, .cause = part.name.second};
  return {{"class", part.name.first},
          {"words", report::words_of(row)},
          {"time", both(part.time.a, part.time.b)}};
}

json kernel_data(const compare::KernelChange& kernel, const compare::Run& a,
                 const compare::Run& b) {
  const auto function_in = [&](const compare::Run& run) {
    const auto use = run.kernels.find(kernel.name);
    return use == run.kernels.end() ? std::string() : use->second.function;
  };
  std::string function = function_in(a);
  if (function.empty()) function = function_in(b);
  const std::string was = kernel.was.empty() ? "" : compare::renamed_text(kernel.was);
  return {{"label", shortened(kernel.display + was, longest_name)},
          {"name", shortened(kernel.name, longest_name)},
          {"color", reading::color_of_work(function.empty() ? kernel.name : function)},
          {"shapes", kernel.shape_changed() ? json{kernel.shape_a, kernel.shape_b} : json()},
          {"launches", both(kernel.launches_a, kernel.launches_b)},
          {"time", both(kernel.time.a, kernel.time.b)}};
}

json period_data(const ComparedSide& side, std::int64_t zero) {
  const auto time = [zero](const std::optional<std::int64_t>& at) {
    return at ? json(saturating_subtract(*at, zero)) : json();
  };
  return {{"from", time(side.period.window.from)},
          {"to", time(side.period.window.to)},
          {"steps", side.run.steps}};
}

}  // namespace

ComparedSide read_side(store::Database& database, const Model& model, std::string title,
                       const std::optional<Window>& part, const std::function<void()>& check) {
  reading::Filter chosen;
  if (part) {
    chosen.from.ns = saturating_subtract(part->from, model.zero);
    chosen.to.ns = saturating_subtract(part->to, model.zero);
  }
  ComparedSide side{.title = std::move(title),
                    .run = compare::read_run(database, chosen, check),
                    .period = compare::compared_period(database, chosen),
                    .steps = read_step_times(database, model, window_of(model))};
  side.run.file = side.title;
  if (!side.run.has_work()) {
    throw Error(side.title + " has no GPU work with times" + (part ? " there" : ""),
                "gpuprof info says what is in it", ExitCode::import_failed);
  }
  return side;
}

json comparison_data(const ComparedSide& a, const ComparedSide& b,
                     const std::array<std::int64_t, 2>& zeros) {
  const compare::Comparison sides = compare::compare({a.run}, {b.run}, {});
  json parts = json::array(), kernels = json::array(), remarks = json::array(),
       differences = json::array();
  for (const compare::PartChange& part : sides.parts) parts.push_back(part_data(part));
  for (const compare::KernelChange& kernel : sides.kernels) {
    if (kernels.size() == most_compared) break;
    kernels.push_back(kernel_data(kernel, a.run, b.run));
  }
  for (const std::string& remark : compare::remarks(sides)) remarks.push_back(remark);
  for (const compare::Difference& each : sides.differences) {
    differences.push_back(shortened(each.text, longest_name));
  }
  std::ostringstream markdown;
  compare::print_markdown(sides, markdown);
  return {{"titles", {valid_utf8(a.title), valid_utf8(b.title)}},
          {"headline", valid_utf8(compare::headline(sides))},
          {"remarks", std::move(remarks)},
          {"differences", std::move(differences)},
          {"per_step", sides.has_steps()},
          {"time", both(sides.step.a, sides.step.b)},
          {"periods", {period_data(a, zeros[0]), period_data(b, zeros[1])}},
          {"parts", std::move(parts)},
          {"kernels", std::move(kernels)},
          {"names", sides.kernels.size()},
          {"steps", {steps_data(a.steps), steps_data(b.steps)}},
          {"markdown", valid_utf8(markdown.str())}};
}

OtherRun read_other(store::Database& database, Model model, std::string title,
                    std::vector<std::string> notes, const std::function<void()>& check) {
  OtherRun other;
  other.model = std::move(model);
  const Model& drawn = other.model;
  other.side = read_side(database, drawn, title, std::nullopt, check);
  other.drawn.title = std::move(title);
  other.drawn.window = window_of(drawn);
  other.drawn.drawn = drawn.records;
  other.drawn.records = drawn.stored;
  other.drawn.notes = std::move(notes);
  other.drawn.steps = other.side.steps;
  other.drawn.stops = find_stops(database, drawn, other.drawn.window);
  return other;
}

}  // namespace gpuprof::view
