#include <algorithm>
#include <map>
#include <set>

#include "libprof/base/printable.hpp"
#include "libprof/compare/judge.hpp"
#include "libprof/compare/print.hpp"
#include "libprof/compare/statistics.hpp"
#include "libprof/compare/words.hpp"
#include "libprof/report/account.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::compare {
namespace {

constexpr double least_floor_shown = 0.01;  // of the time
constexpr std::size_t most_floors_shown = 20;

struct FloorRow {
  double mean = 0, of_halves = 0, of_runs = 0;  // ns
  std::string text;
};

FloorRow floor_of(const std::vector<Run>& runs, const FigureOf& of, const std::string& text) {
  const std::vector<double> values = each(runs, of);
  const std::size_t half = values.size() / 2;
  return {mean(values), greatest_shift(values, half, half), greatest_shift(values, 1, 1), text};
}

std::string floor_text(double ns, double mean) {
  return change_share_text(ns / mean) + ", " + time_text(ns);
}

}  // namespace

void print_floor(const std::vector<Run>& runs, std::ostream& out,
                 const report::ReportOptions& options) {
  std::vector<FloorRow> rows;
  std::set<PartName> parts;
  std::set<std::string> kernels;
  for (const Run& run : runs) {
    for (const auto& part : run.parts) parts.insert(part.first);
    for (const auto& kernel : run.kernels) kernels.insert(kernel.first);
  }
  const FloorRow whole = floor_of(
      runs, [](const Run& run) { return run.time; }, runs[0].steps > 0 ? "the step" : "the run");
  const auto add = [&](const FigureOf& of, const std::string& text) {
    const FloorRow row = floor_of(runs, of, text);
    if (row.mean >= least_floor_shown * whole.mean) rows.push_back(row);
  };
  for (const PartName& name : parts) {
    add(
        [&](const Run& run) {
          const auto found = run.parts.find(name);
          return found == run.parts.end() ? 0 : found->second;
        },
        "the GPU " + report::words_of({.what = name.first, .cause = name.second}));
  }
  for (const std::string& name : kernels) {
    add(
        [&](const Run& run) {
          const auto found = run.kernels.find(name);
          return found == run.kernels.end() ? 0 : found->second.time;
        },
        name);
  }
  std::ranges::stable_sort(rows, std::greater{}, &FloorRow::mean);
  if (rows.size() > most_floors_shown) rows.resize(most_floors_shown);
  rows.insert(rows.begin(), whole);
  report::Output output(out, options);
  output.line("The largest changes among " + std::to_string(runs.size()) +
              " runs of one program, between halves and between single runs:");
  report::Table table(output, "floor",
                      {{.heading = "Time", .width = 11},
                       {.heading = "Halves", .width = 19},
                       {.heading = "Runs", .width = 19},
                       {.heading = "Of"}});
  table.without_units();
  for (const FloorRow& row : rows) {
    const report::Cell cells[]{time_text(row.mean), floor_text(row.of_halves, row.mean),
                               floor_text(row.of_runs, row.mean), printable(row.text)};
    table.row(cells);
  }
  output.finish();
}

void print_baselines(const std::vector<std::pair<std::string, std::vector<Run>>>& baselines,
                     std::ostream& out, const report::ReportOptions& options) {
  report::Output output(out, options);
  report::Table table(output, "baselines",
                      {{.heading = "Runs", .width = 6},
                       {.heading = "Time", .width = 11},
                       {.heading = "Of", .width = 5},
                       {.heading = "Name", .width = 20},
                       {.heading = "GPUs"}});
  table.without_units();
  for (const auto& [name, runs] : baselines) {
    const double time = mean(each(runs, [](const Run& run) { return run.time; }));
    const report::Cell cells[]{std::to_string(runs.size()), time_text(time),
                               std::string(runs[0].steps > 0 ? "step" : "run"), printable(name),
                               printable(runs[0].devices)};
    table.row(cells);
  }
  output.finish();
}

}  // namespace gpuprof::compare
