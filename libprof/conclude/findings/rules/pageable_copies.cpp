// Copies of host memory that is not pinned.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule pageable_copies{
    .id = "pageable_copies",
    .title = "Copies from or to pageable memory keep the GPU from computing",
    .order = 28,
    .needs = {copies},
    .when =
        "Copies between host and device whose host memory is pageable, and idle time right after "
        "such a copy, at most as much as it took",
    .least_share = 0.01,
    .sql = R"(  WITH late AS (
    SELECT g.*, m."end" - m.start AS most
    FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m
    JOIN gaps AS g ON g.device = m.deviceId AND g.first = m."end"
    WHERE m.copyKind IN (1, 2) AND (m.srcKind = 1 OR m.dstKind = 1) AND 0 < m.start)
  SELECT m.deviceId AS device, 'copy ' || m.copyKind AS part,
         sum(min(m."end", s.last) - max(m.start, s.first)) AS ns, count(*) AS count,
         min(max(m.start, s.first)) AS first, max(min(m."end", s.last)) AS last, NULL AS what
  FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m CROSS JOIN span AS s
  WHERE m.copyKind IN (1, 2) AND (m.srcKind = 1 OR m.dstKind = 1)
    AND 0 < m.start AND m.start < m."end" AND m.start < s.last AND m."end" > s.first
  GROUP BY m.deviceId, m.copyKind
  UNION ALL
  SELECT device, 'no call', min(no_call, most), 1, first, last, what FROM late
  UNION ALL
  SELECT device, 'launch', min(launch, most), 1, first, last, what FROM late
  UNION ALL
  SELECT device, 'call', min(length - no_call - launch - queued, most), 1, first, last, what
  FROM late)",
    .bound =
        "Time counts in which the device copied in that direction and nothing computed; the "
        "rest is hidden already. The host waited for the copy and is late with what comes next.",
    .mends = simulate::pinned,
    .confidence = Confidence::high,
    .reason = "Such a copy goes through a buffer of the driver, and the host waits for most of it.",
    .fix =
        "Pin the host memory (cudaHostAlloc, pin_memory=True of a DataLoader), copy with "
        "cudaMemcpyAsync (non_blocking=True) in a stream of its own, and launch kernels "
        "meanwhile.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#pinned-memory",
    .mistaken =
        "The data is used at once and there is nothing else to compute: then only the speed of "
        "the copy improves.",
};

}  // namespace gpuprof::findings
