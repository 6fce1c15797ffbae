// Kernels of which few warps fit on a multiprocessor.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule low_occupancy{
    .id = "low_occupancy",
    .title = "Few warps of the kernels fit on a multiprocessor",
    .order = 130,
    .needs = {launch_shapes, kernels},
    .when =
        "Kernels whose theoretical occupancy is below 50 % and whose blocks fill the GPU at "
        "least once; of their time the share of warps that do not fit",
    .least_share = 0.05,
    .sql = R"(  SELECT k.device, 'compute' AS part,
         sum(CAST(k.ns * (1 - o.occupancy) AS INTEGER)) AS ns, sum(k.count) AS count,
         min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
)" GPUPROF_JOIN_LAUNCH_SHAPE R"(  WHERE o.occupancy < 0.5 AND o.waves >= 1
  GROUP BY k.device, k.name)",
    .bound =
        "If speed grew with the number of warps, full occupancy would leave the share that "
        "occupancy has now.",
    .confidence = Confidence::low,
    .reason =
        "Many kernels are as fast with few warps; metrics and PC sampling show whether they "
        "wait.",
    .fix =
        "Look at occupancy_limiter of the view kernels: fewer registers (__launch_bounds__), "
        "less shared memory, or other block sizes. First find out whether warps wait: gpuprof "
        "--pc-sampling.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#occupancy",
    .mistaken =
        "Matrix products of cuBLAS and CUTLASS, which use registers and shared memory instead "
        "of many warps.",
};

}  // namespace gpuprof::findings
