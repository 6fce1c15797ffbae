// Multiprocessors without work while a kernel runs, by PM samples.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule sampled_multiprocessors{
    .id = "sampled_multiprocessors",
    .title = "Few multiprocessors work while kernels run, by samples of the counters",
    .order = 128,
    .needs = {{.table = "PM_METRIC",
               .otherwise = "The counters were not sampled; --pm-sampling does it.",
               .rows = true,
               .where = "name GLOB 'sm__cycles_active.avg.pct*'"}},
    .when =
        "Kernels during which sm__cycles_active is below 30 % on average, in the samples that are "
        "in them; of their time the share that is missing from 100 %",
    .least_share = 0.02,
    .sql = R"(  SELECT p.device_id AS device, 'compute' AS part,
         CAST(sum((min(p."end", s.last) - max(p.start, s.first)) * (1 - p.value / 100)) AS INTEGER)
           AS ns,
         count(*) AS count, min(p.start) AS first, max(p."end") AS last, p.name AS what
  FROM kernel_pm AS p CROSS JOIN span AS s
  WHERE p.metric GLOB 'sm__cycles_active.avg.pct*' AND p.value < 30 AND p.start < s.last
    AND p."end" > s.first
  GROUP BY p.device_id, p.name)",
    .bound =
        "If all multiprocessors worked all the time, the same work would take the share in which "
        "they do.",
    .confidence = Confidence::low,
    .reason = "What else ran on the GPU counts too, and short kernels have no samples.",
    .fix =
        "Launch more and smaller blocks, or run other kernels at the same time: streams, larger "
        "batches, CUDA graphs with branches.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#thread-and-block-heuristics",
    .mistaken =
        "Kernels that wait for another GPU, such as those of NCCL, need few "
        "multiprocessors.",
};

}  // namespace gpuprof::findings
