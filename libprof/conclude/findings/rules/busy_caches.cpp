// Kernels that caches limit, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule busy_caches{
    .id = "busy_caches",
    .title = "The L1 or L2 cache limits kernels",
    .order = 154,
    .needs = {memory_shares, kernel_names, kernels},
    .when =
        "Kernels of which the L2 cache (lts__t…) or the data stage of L1 (l1tex__…) is at least "
        "80 % of its peak and busier than device memory and arithmetic; of their time the share "
        "that the busiest of these lacks",
    .least_share = 0.05,
    .sql = GPUPROF_UNITS(GPUPROF_CACHES, GPUPROF_DRAM " OR\n           " GPUPROF_ARITHMETIC)
        R"(  WHERE m.percent >= 80 AND m.next < m.percent
  GROUP BY k.device, k.name)",
    .bound = next_unit,
    .confidence = Confidence::low,
    .reason = "How often the same data has to be read is not recorded.",
    .fix =
        "Read what several threads need once, into shared memory or registers (tiling); let "
        "neighbouring threads access neighbouring addresses; use wider loads. A low "
        "l1tex__t_sector_hit_rate says that L1 is of no use.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/"
        "#coalesced-access-to-global-memory",
    .mistaken = "Matrix products that tile as well as they can.",
};

}  // namespace gpuprof::findings
