// Kernels that keep no unit busy, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule idle_units{
    .id = "idle_units",
    .title = "Kernels come near to neither the peak of memory nor that of arithmetic",
    .order = 156,
    .needs = {memory_shares, kernel_names, kernels},
    .when =
        "Kernels of which memory, caches and arithmetic units all are below 60 % of their peak "
        "(metrics of --set compute and --set memory); of their time the share that the busiest "
        "lacks",
    .least_share = 0.05,
    .sql = GPUPROF_UNITS(GPUPROF_ARITHMETIC,
                         GPUPROF_DRAM " OR " GPUPROF_CACHES " OR\n           " GPUPROF_ARITHMETIC)
        R"(  WHERE m.percent IS NOT NULL AND m.next BETWEEN 0.01 AND 60
  GROUP BY k.device, k.name)",
    .bound = "If the busiest unit were busy all the time, the kernel would need the share it is.",
    .confidence = Confidence::low,
    .reason = "A unit that was not measured may be nearer to its peak.",
    .fix =
        "These kernels wait: gpuprof --set stalls says for what and where. More warps, more "
        "independent work for each thread, and loads before they are needed help.",
    .link = about_warp_states,
    .mistaken = "Kernels of a few microseconds, most of which is starting.",
};

}  // namespace gpuprof::findings
