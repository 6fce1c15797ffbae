// Reports: each brings its option itself (libprof/report/report.hpp).
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {

std::vector<Option> report_options() {
  std::vector<Option> table;
  for (const report::Report* entry : report::reports()) {
    if (entry->option.empty()) continue;
    const std::string name(entry->option);
    table.push_back({.name = name,
                     .letter = name == "print-summary" ? 's' : '\0',
                     .group = OptionGroup::reports,
                     .help = std::string(entry->help),
                     .ours = entry->ours,
                     .common = true,
                     .set = [name](Options& options, const std::string&) {
                       options.reports.chosen.insert(name);
                       return std::optional<Refusal>();
                     }});
  }
  return table;
}

std::string wrong_combination(const report::Options& reports) {
  bool summary = false, trace = false, with_top = false;
  for (const report::Report* report : report::reports()) {
    if (!reports.chosen.contains(std::string(report->option))) continue;
    const bool of_sums = report->option.find("summary") != report->option.npos;
    summary |= of_sums && !report->ours;
    with_top |= of_sums;
    trace |= report->phase == report::Phase::trace;
  }
  if (reports.two_layouts) return "Use either --csv or --json.";
  if (reports.top > 0 && trace && !with_top) {
    return "--top is for summaries; a trace has all rows.";
  }
  if (reports.filter.from && reports.filter.to && *reports.filter.from >= *reports.filter.to) {
    return "--from is not before --to.";
  }
  if (summary && trace) {
    return "Use either the print summary options or the print trace options.";
  }
  if (reports.chosen.contains("print-dependency-analysis-trace") &&
      !reports.chosen.contains("dependency-analysis")) {
    return "Showing dependency analysis trace requires dependency analysis to be enabled.";
  }
  return {};
}

}  // namespace gpuprof::app
