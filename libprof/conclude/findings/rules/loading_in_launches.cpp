// Launches that load or compile code first.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule loading_in_launches{
    .id = "loading_in_launches",
    .title = "Launches load or compile code while the GPU waits",
    .order = 25,
    .needs = {gaps,
              {.table = "CUPTI_ACTIVITY_KIND_OVERHEAD", .otherwise = no_overheads, .rows = true},
              calls},
    .when =
        "Gaps in which CUPTI saw the driver load or compile code (OVERHEAD: driver compiler, "
        "module loading, lazy function loading; and JIT), as far as the host was launching work",
    .least_share = 0.01,
    .sql = R"(  WITH loads AS (
    SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE overheadKind IN (1, 262144, 327680)
    UNION ALL
    SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_JIT),
  clipped AS (
    SELECT max(l.start, s.first) AS first, min(l."end", s.last) AS last
    FROM loads AS l CROSS JOIN span AS s
    WHERE 0 < l.start AND l.start < s.last AND l."end" > s.first),
  ordered AS (
    SELECT first, last, coalesce(max(last) OVER (ORDER BY first, last ROWS BETWEEN
                                 UNBOUNDED PRECEDING AND 1 PRECEDING), first) AS until
    FROM clipped),
  loading AS (
    SELECT max(first, until) AS first, last FROM ordered WHERE last > max(first, until)),
  shared AS (
    SELECT g.device, g.launch, g.first, g.last, g.what, count(*) AS count,
           sum(min(g.last, l.last) - max(g.first, l.first)) AS ns
    FROM gaps AS g
    JOIN loading AS l ON l.first < g.last AND l.last > g.first
    GROUP BY g.device, g.first)
  SELECT device, 'launch' AS part, min(ns, launch, last - first) AS ns, count, first, last, what
  FROM shared)",
    .bound = "Without loading, the idle time is saved in which it happened, and nothing else.",
    .mends = simulate::nothing,
    .confidence = Confidence::high,
    .reason = "The GPU had no work while the driver loaded code.",
    .fix =
        "Launch each kernel once before what is measured or served. CUDA_MODULE_LOADING=EAGER "
        "loads all code at the start; build for the GPU's own compute capability, so that "
        "nothing is compiled when it runs.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#lazy-loading",
    .mistaken =
        "A short recording: code is loaded once, so a longer run has the same time with more "
        "steps.",
};

}  // namespace gpuprof::findings
