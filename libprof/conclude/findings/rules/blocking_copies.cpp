// Copies that the host waits for though the memory is pinned.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule blocking_copies{
    .id = "blocking_copies",
    .title = "Copies that the host waits for keep the GPU from computing",
    .order = 70,
    .needs = {copies},
    .when =
        "Copies between host and device that are not asynchronous, of memory that is not "
        "pageable",
    .least_share = 0.01,
    .sql = R"(  SELECT m.deviceId AS device, 'copy ' || m.copyKind AS part,
         sum(min(m."end", s.last) - max(m.start, s.first)) AS ns, count(*) AS count,
         min(max(m.start, s.first)) AS first, max(min(m."end", s.last)) AS last, NULL AS what
  FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m CROSS JOIN span AS s
  WHERE m.copyKind IN (1, 2) AND m.srcKind <> 1 AND m.dstKind <> 1 AND NOT m.flags & 1
    AND m.graphId = 0
    AND 0 < m.start AND m.start < m."end" AND m.start < s.last AND m."end" > s.first
  GROUP BY m.deviceId, m.copyKind)",
    .bound =
        "Time counts in which the device copied in that direction and nothing computed; the "
        "rest is hidden already.",
    .mends = simulate::blocking_copies,
    .confidence = Confidence::high,
    .reason = "While the host waits for a copy, it launches nothing.",
    .fix =
        "Copy with cudaMemcpyAsync (non_blocking=True) in a stream of its own, and launch "
        "kernels meanwhile.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/"
        "#asynchronous-and-overlapping-transfers-with-computation",
    .mistaken = "Copies before the first step: choose the steps with --nvtx, --from and --to.",
};

}  // namespace gpuprof::findings
