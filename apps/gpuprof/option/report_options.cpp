// Options of reports: each declares its own (libprof/report/report.hpp).
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {

std::vector<Option> report_options() {
  std::vector<Option> table;
  for (const report::Report* entry : report::reports()) {
    if (entry->option.empty()) continue;
    const std::string name(entry->option);
    table.push_back({.name = name,
                     .letter = entry->letter,
                     .help = std::string(entry->help),
                     .is = common | (entry->ours ? ours : 0U),
                     .set = [name](Options& options, const std::string&) {
                       options.reports.chosen.insert(name);
                       return std::optional<Refusal>();
                     }});
  }
  return table;
}

}  // namespace gpuprof::app
