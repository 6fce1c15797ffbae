// The section "GPU activities" of the summary: kernels, copies and sets by name.
#include <map>

#include "libprof/report/report.hpp"
#include "libprof/report/totals.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

std::vector<SummaryRow> read_gpu_activities(Session& session) {
  Totals kernels;                       // by string id
  std::map<std::string, Total> others;  // several unknown kinds of copies share a name
  for (const schema::GpuKind& work : schema::gpu_kinds) {
    for (auto& [id, total] : read_totals(session, work.kind, work.named_by, Validity::gpu_work)) {
      // Dynamic parallelism as nvprof recorded it.
      if (work.kind == "CDP_KERNEL") total.device_calls = total.calls;
      if (work.is_kernel()) {
        kernels[id].add(total);
      } else {
        others[session.names().gpu_work(work, id)].add(total);
      }
    }
  }
  std::vector<SummaryRow> rows;
  for (auto& [id, total] : kernels) rows.push_back({session.names().kernel(id), std::move(total)});
  for (auto& [name, total] : others) rows.push_back({name, std::move(total)});
  return rows;
}

}  // namespace

extern const Report gpu_activities{
    .option = "print-gpu-summary",
    .help = "Summary of GPU activities: kernels, copies and sets",
    .phase = Phase::summary,
    .order = 1,
    .does = Section{.rows = read_gpu_activities,
                    .label = [](const Session&) -> std::string { return "GPU activities"; },
                    .nothing = "No kernels were profiled.",
                    .by_default = true,
                    .per_device = true},
};

}  // namespace gpuprof::report
