// Managed memory that goes to and fro.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule page_migrations{
    .id = "page_migrations",
    .title = "Pages of managed memory go to and fro between host and device",
    .order = 112,
    .needs = {{.table = "CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER",
               .otherwise = no_migrations,
               .rows = true}},
    .when =
        "Migrations of pages that went at least three times, in both directions, as far as kernels "
        "ran meanwhile",
    .least_share = 0.01,
    .sql = R"(  WITH moves AS (
    SELECT CASE u.counterKind WHEN 1 THEN u.dstId ELSE u.srcId END AS device, u.address,
           u.counterKind AS kind, max(u.start, s.first) AS first, min(u."end", s.last) AS last
    FROM CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER AS u CROSS JOIN span AS s
    WHERE u.counterKind IN (1, 2)
      AND 0 < u.start AND u.start < u."end" AND u.start < s.last AND u."end" > s.first),
  pages AS (
    SELECT device, sum(last - first) AS ns, count(*) AS count, min(first) AS first,
           max(last) AS last
    FROM moves
    GROUP BY device, address
    HAVING count(*) >= 3 AND min(kind) < max(kind))
  SELECT device, 'compute' AS part, sum(ns) AS ns, sum(count) AS count, min(first) AS first,
         max(last) AS last, NULL AS what
  FROM pages
  GROUP BY device)",
    .bound = "A kernel that touches a page waits for it no longer than it takes to come.",
    .confidence = Confidence::medium,
    .reason = "Which kernels waited for a page is not recorded.",
    .fix =
        "Keep data where it is used: cudaMemPrefetchAsync before the kernels, cudaMemAdvise "
        "(preferred location, read mostly), or memory of cudaMalloc and explicit copies.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#unified-memory-programming",
    .mistaken = "More memory is in use than the GPU has: then some of it has to move.",
};

}  // namespace gpuprof::findings
