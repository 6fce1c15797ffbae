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
        "least once, without matrix products by name (gemm, wgmma, cutlass) and those in which "
        "more "
        "than 20 % of the PC samples are of warps that could go on while others did; of their time "
        "the share of warps that do not fit",
    .least_share = 0.05,
    .sql = R"(  WITH busy AS (
    SELECT device, function FROM stalls
    GROUP BY device, function
    HAVING sum(samples) >= 100
       AND sum(CASE WHEN reason = 'not_selected' THEN samples ELSE 0 END) > 0.2 * sum(samples)),
  products AS (
    SELECT _id_ AS id FROM StringTable
    WHERE value GLOB '*gemm*' OR value GLOB '*wgmma*' OR value GLOB '*cutlass*')
  SELECT k.device, 'compute' AS part,
         sum(CAST(k.ns * (1 - o.occupancy) AS INTEGER)) AS ns, sum(k.count) AS count,
         min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
)" GPUPROF_JOIN_LAUNCH_SHAPE
           R"(  WHERE o.occupancy < 0.5 AND o.waves >= 1 AND k.name NOT IN (SELECT id FROM products)
    AND NOT EXISTS (SELECT 1 FROM busy AS b
                    JOIN StringTable AS n ON coalesce(n.demangled, n.value) = b.function
                    WHERE n._id_ = k.name AND b.device = k.device)
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
        "Kernels that use registers and shared memory instead of many warps, as matrix products "
        "do.",
};

}  // namespace gpuprof::findings
