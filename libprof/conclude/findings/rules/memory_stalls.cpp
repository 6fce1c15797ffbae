// Warps that wait for memory, by PC samples.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule memory_stalls{
    .id = "memory_stalls",
    .title = "Warps of kernels wait for memory",
    .order = 142,
    .needs = {{.table = "CUPTI_ACTIVITY_KIND_PC_SAMPLING", .otherwise = no_samples, .rows = true},
              {.table = "StringTable", .otherwise = no_kernel_names, .rows = true},
              {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
               .otherwise = no_kernels,
               .rows = true}},
    .when =
        "Kernels in which more than 30 % of the PC samples are of warps that wait for global or "
        "local "
        "memory and whose scheduler issues nothing; that share of their time",
    .least_share = 0.02,
    .sql = R"(  WITH sampled AS (
    SELECT device_id AS device, function, sum(samples) AS samples,
           sum(CASE WHEN stall_reason IN ('long_scoreboard', 'lg_throttle') THEN not_issued ELSE 0 END) AS waiting
    FROM pc_samples
    GROUP BY device_id, function
    HAVING sum(samples) >= 100)
  SELECT k.device, 'compute' AS part, sum(k.ns * s.waiting / s.samples) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN StringTable AS n ON n._id_ = k.name
  JOIN sampled AS s ON s.device = k.device AND s.function = coalesce(n.demangled, n.value)
  WHERE s.waiting > 0.3 * s.samples
  GROUP BY k.device, k.name)",
    .bound =
        "Without these waits the scheduler would issue something else in that share of its cycles.",
    .confidence = Confidence::low,
    .reason = "While one warp waits, others may use what it would use.",
    .fix =
        "Find the lines with gpuprof kernels: wider and contiguous accesses, loads before they are "
        "needed (cp.async, TMA, unrolling), data in shared memory, more warps.",
    .link =
        "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#warp-scheduler-states",
    .mistaken =
        "Kernels that need all of the bandwidth of memory: waiting less does not make it carry "
        "more.",
};

}  // namespace gpuprof::findings
