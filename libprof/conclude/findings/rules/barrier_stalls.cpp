// Warps that wait for the others of their block, by PC samples.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule barrier_stalls{
    .id = "barrier_stalls",
    .title = "Warps of kernels wait for others of their block",
    .order = 143,
    .needs = {{.table = "CUPTI_ACTIVITY_KIND_PC_SAMPLING", .otherwise = no_samples, .rows = true},
              {.table = "StringTable", .otherwise = no_kernel_names, .rows = true},
              {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
               .otherwise = no_kernels,
               .rows = true}},
    .when =
        "Kernels in which more than 10 % of the PC samples are of warps that wait at a barrier or "
        "fence and whose scheduler issues nothing; that share of their time",
    .least_share = 0.02,
    .sql = R"(  WITH sampled AS (
    SELECT device_id AS device, function, sum(samples) AS samples,
           sum(CASE WHEN stall_reason IN ('barrier', 'membar') THEN not_issued ELSE 0 END) AS waiting
    FROM pc_samples
    GROUP BY device_id, function
    HAVING sum(samples) >= 100)
  SELECT k.device, 'compute' AS part, sum(k.ns * s.waiting / s.samples) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN StringTable AS n ON n._id_ = k.name
  JOIN sampled AS s ON s.device = k.device AND s.function = coalesce(n.demangled, n.value)
  WHERE s.waiting > 0.1 * s.samples
  GROUP BY k.device, k.name)",
    .bound =
        "Without these waits the scheduler would issue something else in that share of its cycles.",
    .confidence = Confidence::low,
    .reason = "While one warp waits, others may use what it would use.",
    .fix =
        "Give the warps of a block the same work, use smaller blocks, and replace __syncthreads() "
        "by "
        "__syncwarp() or named barriers where not all warps need each other.",
    .link =
        "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#warp-scheduler-states",
    .mistaken = "Blocks that wait for data that some of their warps load.",
};

}  // namespace gpuprof::findings
