// The section "API calls" of the summary: runtime and driver functions by name.
#include <map>

#include "libprof/report/report.hpp"
#include "libprof/report/totals.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

std::vector<SummaryRow> read_api_calls(Session& session) {
  // Several functions print alike: cudaLaunchKernel_v7000, cudaLaunchKernel_ptsz_v7000.
  std::map<std::string, Total> by_name;
  for (const schema::ApiKind& calls : schema::api_kinds) {
    if (!calls.nvprofs) continue;
    for (const auto& [cbid, total] : read_totals(session, calls.kind, "cbid", Validity::api_call)) {
      by_name[session.names().api(reading::domain_of(calls), cbid)].add(total);
    }
  }

  std::vector<SummaryRow> rows;
  for (auto& [name, total] : by_name) rows.push_back({name, std::move(total)});
  return rows;
}

}  // namespace

extern const Report api_calls{
    .option = "print-api-summary",
    .help = "Summary of CUDA runtime and driver calls",
    .phase = Phase::summary,
    .order = 2,
    .collected = {.all_calls = true},
    .does = Section{.rows = read_api_calls,
                    .label = [](const Session&) -> std::string { return "API calls"; },
                    .nothing = "No API activities were profiled.",
                    .by_default = true},
};

}  // namespace gpuprof::report
