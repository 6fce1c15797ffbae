// Many copies whose bytes do not explain their time.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule small_copies{
    .id = "small_copies",
    .title = "Many small copies take longer than their bytes need",
    .order = 80,
    .needs = {copies},
    .when =
        "More than 1,000 copies smaller than 64 KiB in one direction; the time that they take "
        "beyond that of the same bytes at the best bandwidth of this direction in the window",
    .least_share = 0.01,
    .sql = R"(  WITH copies AS (
    SELECT m.deviceId AS device, m.copyKind AS kind, m.bytes, m."end" - m.start AS duration,
           max(m.start, s.first) AS first, min(m."end", s.last) AS last
    FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m CROSS JOIN span AS s
    WHERE 0 < m.start AND m.start < m."end" AND m.start < s.last AND m."end" > s.first),
  best AS (SELECT device, kind, max(1.0 * bytes / duration) AS speed FROM copies GROUP BY 1, 2)
  SELECT c.device, 'copy ' || c.kind AS part,
         sum(max(0, c.last - c.first - CAST(c.bytes / b.speed AS INTEGER))) AS ns,
         count(*) AS count, min(c.first) AS first, max(c.last) AS last, NULL AS what
  FROM copies AS c JOIN best AS b ON b.device = c.device AND b.kind = c.kind
  WHERE c.bytes < 65536
  GROUP BY c.device, c.kind
  HAVING count(*) > 1000)",
    .bound = "One copy of the same bytes takes at least what the best bandwidth of the run allows.",
    .confidence = Confidence::medium,
    .reason = "Whether the copies can be put together depends on the program.",
    .fix =
        "Put the data together on the host and copy it once; cudaMemcpyBatchAsync takes many "
        "copies in one call; single values can be arguments of kernels.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/"
        "#data-transfer-between-host-and-device",
    .mistaken = "The values arrive one at a time, and each is needed at once.",
};

}  // namespace gpuprof::findings
