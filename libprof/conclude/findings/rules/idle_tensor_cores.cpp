// Matrix products that keep the tensor cores waiting, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule idle_tensor_cores{
    .id = "idle_tensor_cores",
    .title = "Tensor cores wait for most of the time of matrix products",
    .order = 139,
    .needs = {measured("name GLOB 'sm__pipe_tensor_cycles_active*'"), kernel_names, kernels},
    .when =
        "Kernels that use the tensor cores in more than 1 % and less than 30 % of their cycles, by "
        "the metric sm__pipe_tensor_cycles_active, and whose name has gemm, wgmma, mma or conv; of "
        "their time the share in which they do not",
    .least_share = 0.05,
    .sql = R"(  SELECT k.device, 'compute' AS part,
         sum(CAST(k.ns * (1 - m.value / 100) AS INTEGER)) AS ns,
)" GPUPROF_OF_MEASURED_KERNELS(
        "measured") R"(  WHERE m.metric GLOB 'sm__pipe_tensor_cycles_active.avg.pct*' AND m.value > 1
    AND m.value < 30
    AND (lower(m.function) GLOB '*gemm*' OR lower(m.function) GLOB '*mma*'
         OR lower(m.function) GLOB '*conv*')
  GROUP BY k.device, k.name)",
    .bound =
        "If only the tensor cores took time, the kernel would need the share in which they work.",
    .confidence = Confidence::low,
    .reason =
        "Small matrices cannot fill the tensor cores, and their data has to come from memory.",
    .fix =
        "Use larger matrices or batches, sizes that are multiples of 64, BF16 or FP8, and fuse "
        "what comes before and after the product (torch.compile, cuBLASLt epilogues).",
    .link =
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/"
        "index.html",
    .mistaken = "Products with a vector or a narrow matrix, which memory limits.",
};

}  // namespace gpuprof::findings
