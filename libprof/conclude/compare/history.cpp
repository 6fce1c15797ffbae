#include <algorithm>
#include <cmath>

#include "libprof/base/printable.hpp"
#include "libprof/conclude/compare/comparison.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/words.hpp"
#include "libprof/report/account.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::compare {
namespace {

// The part of the step that changed most.
std::string largest_part(const Comparison& sides) {
  if (sides.parts.empty() || sides.parts.front().time.difference() == 0) return "";
  const PartChange& part = sides.parts.front();
  return change_text(part.time.difference()) + " the GPU " +
         report::words_of({.what = part.name.first, .cause = part.name.second});
}

double idle_share(const Change& step, const std::vector<PartChange>& parts) {
  double idle = 0;
  for (const PartChange& part : parts) {
    if (is_idle(part.name)) idle += part.time.b;
  }
  return step.b > 0 ? idle / step.b : 0;
}

report::Cell whole(double ns) { return static_cast<std::int64_t>(std::llround(ns)); }

}  // namespace

void print_history(const std::vector<std::pair<std::string, std::vector<Run>>>& baselines,
                   const Rules& rules, std::ostream& out, const report::ReportOptions& options) {
  report::Output output(out, options);
  const bool text = options.layout == report::Layout::text;
  report::Table table(
      output, "history",
      {{.heading = "Runs", .width = 6, .quantity = report::Quantity::count, .key = "runs"},
       {.heading = "Time",
        .width = 11,
        .quantity = text ? report::Quantity::text : report::Quantity::count,
        .csv = "Time (ns)",
        .key = "time_ns"},
       {.heading = "Of", .width = 5, .key = "of"},
       {.heading = "Idle",
        .width = 8,
        .quantity = text ? report::Quantity::text : report::Quantity::percent,
        .csv = "Idle (%)",
        .key = "idle_percent"},
       {.heading = "Change",
        .width = 9,
        .quantity = text ? report::Quantity::text : report::Quantity::percent,
        .csv = "Change (%)",
        .key = "change_percent"},
       {.heading = "Verdict", .width = 13, .key = "verdict"},
       {.heading = "Name", .width = 20, .key = "name"},
       {.heading = "Most changed", .key = "most_changed"}});
  table.without_units();
  const std::vector<Run>* before = nullptr;
  for (const auto& [name, runs] : baselines) {
    const Comparison sides = compare(before ? *before : runs, runs, rules);
    const double share = sides.step.share(sides.step.difference());
    const double idle = idle_share(sides.step, sides.parts);
    const report::Cell nothing;
    const report::Cell cells[]{
        static_cast<std::int64_t>(runs.size()),
        text ? report::Cell(time_text(sides.step.b)) : whole(sides.step.b),
        std::string(sides.has_steps() ? "step" : "run"),
        text ? report::Cell(share_text(idle)) : report::Cell(100 * idle),
        !before ? nothing
        : text  ? report::Cell(change_share_text(share))
                : report::Cell(100 * share),
        !before ? nothing : report::Cell(std::string(verdict_name(sides.verdict))),
        printable(name),
        !before ? nothing : report::Cell(printable(largest_part(sides)))};
    table.row(cells);
    before = &runs;
  }
  output.finish();
}

}  // namespace gpuprof::compare
