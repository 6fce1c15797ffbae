// Fewer warps in flight than fit, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule missing_warps{
    .id = "missing_warps",
    .title = "Kernels have fewer warps in flight than would fit",
    .order = 131,
    .needs = {measured("name = 'achieved_occupancy'"), launch_shapes, kernels},
    .when =
        "Kernels whose blocks fill the GPU at least once and whose achieved_occupancy is below 80 "
        "% of the theoretical; of their time the share of warps that are missing",
    .least_share = 0.05,
    .sql = R"(  SELECT k.device, 'compute' AS part,
         sum(CAST(k.ns * (1 - m.value / o.occupancy) AS INTEGER)) AS ns,
)" GPUPROF_OF_MEASURED_KERNELS("measured") GPUPROF_JOIN_LAUNCH_SHAPE
    R"(  WHERE m.metric = 'achieved_occupancy' AND o.waves >= 1 AND m.value > 0
    AND m.value < 0.8 * o.occupancy
  GROUP BY k.device, k.name)",
    .bound =
        "If speed grew with the number of warps, all that fit would leave the share that is there "
        "now.",
    .confidence = Confidence::low,
    .reason = "Many kernels are as fast with fewer warps; PC sampling shows whether they wait.",
    .fix =
        "Give blocks the same work, so that none is left alone at the end; launch more blocks than "
        "fit at a time; use blocks of 128 to 256 threads, which replace one another sooner.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#occupancy",
    .mistaken = "Kernels that are over before all multiprocessors have their blocks.",
};

}  // namespace gpuprof::findings
