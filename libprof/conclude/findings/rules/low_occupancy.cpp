// Kernels of which few warps fit on a multiprocessor.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule low_occupancy{
    .id = "low_occupancy",
    .title = "Few warps of the kernels fit on a multiprocessor",
    .order = 130,
    .needs = {{.table = "LAUNCH_SHAPE", .otherwise = computed_at_the_end, .rows = true},
              {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
               .otherwise = no_kernels,
               .rows = true}},
    .when =
        "Kernels whose theoretical occupancy is below 50 % and whose blocks fill the GPU at "
        "least once; of their time the share of warps that do not fit",
    .least_share = 0.05,
    .sql = R"(  SELECT k.device, 'compute' AS part,
         sum(CAST(k.ns * (1 - o.occupancy) AS INTEGER)) AS ns, sum(k.count) AS count,
         min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN LAUNCH_SHAPE AS o
    ON o.blocks = k.blocks AND o.threadsPerBlock = k.threads
   AND o.sharedMemory = k.shared_memory AND o.registersPerThread = k.registers
   AND o.carveout = k.carveout AND o.deviceId = k.device AND o.processId = k.process
  WHERE o.occupancy < 0.5 AND o.waves >= 1
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
