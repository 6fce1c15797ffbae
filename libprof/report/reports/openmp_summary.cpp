// The section "OpenMP (incl)" of the summary: time by kind of construct.
#include <map>

#include "libprof/report/directives.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/totals.hpp"

namespace gpuprof::report {
namespace {

std::vector<SummaryRow> read_openmp_summary(Session& session) {
  std::map<std::string, Total> by_name;  // several unknown kinds share a name
  for (const auto& [kind, total] :
       read_totals(session, "OPENMP", "eventKind", Validity::api_call)) {
    by_name[openmp_name(kind)].add(total);
  }
  std::vector<SummaryRow> rows;
  for (auto& [name, total] : by_name) rows.push_back({name, std::move(total)});
  return rows;
}

}  // namespace

extern const Report openmp_summary{
    .option = "print-openmp-summary",
    .help = "Summary of OpenMP constructs",
    .phase = Phase::summary,
    .order = 4,
    .does = Section{.rows = read_openmp_summary,
                    .label = [](const Session&) -> std::string { return "OpenMP (incl)"; },
                    .by_default = true,
                    .per_device = true},  // all of it: records name no device
};

}  // namespace gpuprof::report
