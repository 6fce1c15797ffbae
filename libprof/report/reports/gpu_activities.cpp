// The section "GPU activities" of the summary: kernels, copies and sets by name.
#include <map>

#include "libprof/report/report.hpp"
#include "libprof/report/totals.hpp"
#include "schema/gpu_kinds.hpp"

namespace gpuprof::report {
namespace {

std::vector<SummaryRow> read_rows(Session& session) {
  Totals kernels = read_totals(session, "KERNEL", "name", Validity::gpu_work);
  const auto add = [&](Totals&& more) {
    for (const auto& [id, total] : more) kernels[id].add(total);
  };
  add(read_totals(session, "CONCURRENT_KERNEL", "name", Validity::gpu_work));
  Totals nested = read_totals(session, "CDP_KERNEL", "name", Validity::gpu_work);
  for (auto& [id, total] : nested) total.device_calls = total.calls;
  add(std::move(nested));

  std::vector<SummaryRow> rows;
  for (auto& [id, total] : kernels) rows.push_back({session.names().kernel(id), std::move(total)});

  std::map<std::string, Total> copies;  // many kinds are unknown
  for (const std::string_view table : {"MEMCPY", "MEMCPY2"}) {
    for (const auto& [kind, total] : read_totals(session, table, "copyKind", Validity::gpu_work)) {
      copies[memcpy_name(kind)].add(total);
    }
  }
  for (auto& [name, total] : copies) rows.push_back({name, std::move(total)});
  for (auto& [key, total] : read_totals(session, "MEMSET", "", Validity::gpu_work)) {
    rows.push_back({std::string(memset_name), std::move(total)});
  }
  // What nvprof did not have: graphs as a whole, whose nodes are not there then, and decompression.
  for (const schema::GpuKind& own : schema::own_gpu_kinds) {
    for (auto& [key, total] : read_totals(session, own.kind, "", Validity::gpu_work)) {
      rows.push_back({std::string(own.name), std::move(total)});
    }
  }
  return rows;
}

}  // namespace

extern const Report gpu_activities{
    .option = "print-gpu-summary",
    .help = "Summary of GPU activities: kernels, copies and sets",
    .phase = Phase::summary,
    .order = 1,
    .does = Section{.rows = read_rows,
                    .label = [](const Session&) -> std::string { return "GPU activities"; },
                    .nothing = "No kernels were profiled.",
                    .by_default = true,
                    .per_device = true},
};

}  // namespace gpuprof::report
