// Kernels that device memory limits, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule busy_memory{
    .id = "busy_memory",
    .title = "Device memory limits kernels",
    .order = 153,
    .needs = {memory_shares, kernel_names, kernels},
    .when =
        "Kernels of which dram__throughput is at least 85 % of its peak; of their time the share "
        "that the busiest other unit lacks (caches and arithmetic, --set compute,memory)",
    .least_share = 0.05,
    .sql = GPUPROF_UNITS(GPUPROF_DRAM, GPUPROF_CACHES " OR\n           " GPUPROF_ARITHMETIC)
        R"(  WHERE m.percent >= 85 AND m.next < m.percent
  GROUP BY k.device, k.name)",
    .bound = next_unit,
    .confidence = Confidence::low,
    .reason = "How many bytes the result needs is not recorded.",
    .fix =
        "Move fewer bytes: fuse kernels that pass data on (torch.compile, CUTLASS epilogues), "
        "smaller types (BF16, FP8), blocks of data that stay in shared memory or the L2 cache.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#device-memory-spaces",
    .mistaken = "Kernels that read and write each byte once, such as copies: they are done.",
};

}  // namespace gpuprof::findings
