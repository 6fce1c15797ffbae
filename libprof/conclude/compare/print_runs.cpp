#include <algorithm>
#include <map>
#include <ranges>

#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/compare/judge.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/statistics.hpp"
#include "libprof/conclude/compare/words.hpp"
#include "libprof/report/account.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::compare {
namespace {

constexpr double least_floor_shown = 0.01;       // of the time
constexpr std::size_t longest_name_shown = 160;  // bytes

struct FloorRow {
  std::string text;
  std::vector<double> values;     // ns, of each run
  double halves = 0, single = 0;  // ns

  double time() const { return mean(values); }
};

// Those that take at least 1 % of `whole`, longest first.
void keep_large(std::vector<FloorRow>& rows, double whole) {
  std::erase_if(rows, [&](const FloorRow& row) { return row.time() < least_floor_shown * whole; });
  std::ranges::stable_sort(rows, std::greater{}, &FloorRow::time);
}

// As they are asked about: together.
void add_floors(std::vector<FloorRow> rows, std::vector<FloorRow>& to) {
  std::vector<std::vector<double>> figures;
  for (const FloorRow& row : rows) figures.push_back(row.values);
  const std::size_t half = rows.empty() ? 0 : rows.front().values.size() / 2;
  const auto halves = usual_shifts(figures, half, half), single = usual_shifts(figures, 1, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].halves = halves[i];
    rows[i].single = single[i];
    to.push_back(std::move(rows[i]));
  }
}

std::string floor_text(double ns, double time) {
  return share_text(ns / time) + ", " + time_text(ns);
}

std::vector<FloorRow> part_rows(const std::vector<Run>& runs) {
  std::map<PartName, FloorRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [name, time] : runs[i].parts) {
      FloorRow& row = rows[name];
      row.text = "the GPU " + report::words_of({.what = name.first, .cause = name.second});
      row.values.resize(runs.size());
      row.values[i] = time;
    }
  }
  const auto values = std::views::values(rows);
  return {values.begin(), values.end()};
}

std::vector<FloorRow> kernel_rows(const std::vector<Run>& runs) {
  std::map<std::string, FloorRow> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [name, use] : runs[i].kernels) {
      FloorRow& row = rows[name];
      constexpr std::size_t part = longest_name_shown / 2;
      row.text = name.size() <= 2 * part ? name : without_middle(name, part, part, "...");
      row.values.resize(runs.size());
      row.values[i] = use.time;
    }
  }
  const auto values = std::views::values(rows);
  return {values.begin(), values.end()};
}

}  // namespace

void print_floor(const std::vector<Run>& runs, std::ostream& out,
                 const report::ReportOptions& options) {
  std::vector<FloorRow> rows, parts = part_rows(runs), kernels = kernel_rows(runs);
  add_floors({{.text = runs.front().steps > 0 ? "the step" : "the run",
               .values = each(runs, [](const Run& run) { return run.time; })}},
             rows);
  const double whole = rows.front().time();
  keep_large(parts, whole);
  keep_large(kernels, whole);
  add_floors(std::move(parts), rows);
  add_floors(std::move(kernels), rows);
  report::Output output(out, options);
  output.line("Changes that occur among " + std::to_string(runs.size()) +
              " runs of one program, between halves of them and between single ones:");
  report::Table table(output, "floor",
                      {{.heading = "Time", .width = 11},
                       {.heading = "Halves", .width = 19},
                       {.heading = "Runs", .width = 19},
                       {.heading = "Of"}});
  table.without_units();
  for (const FloorRow& row : rows) {
    const report::Cell cells[]{time_text(row.time()), floor_text(row.halves, row.time()),
                               floor_text(row.single, row.time()), printable(row.text)};
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
