// Copies that could run at the same time as kernels and do not.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule unhidden_copies{
    .id = "unhidden_copies",
    .title = "Asynchronous copies do not run at the same time as kernels",
    .order = 90,
    .needs = {copies},
    .when = "Asynchronous copies between host and device, of memory that is not pageable",
    .least_share = 0.01,
    .sql = R"(  SELECT m.deviceId AS device, 'copy ' || m.copyKind AS part,
         sum(min(m."end", s.last) - max(m.start, s.first)) AS ns, count(*) AS count,
         min(max(m.start, s.first)) AS first, max(min(m."end", s.last)) AS last, NULL AS what
  FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m CROSS JOIN span AS s
  WHERE m.copyKind IN (1, 2) AND m.srcKind <> 1 AND m.dstKind <> 1 AND m.flags & 1
    AND 0 < m.start AND m.start < m."end" AND m.start < s.last AND m."end" > s.first
  GROUP BY m.deviceId, m.copyKind)",
    .bound =
        "Time counts in which the device copied in that direction and nothing computed; the "
        "rest is hidden already.",
    .mends = simulate::other_copies,
    .confidence = Confidence::medium,
    .reason = "Whether there is work that does not need the data is not recorded.",
    .fix =
        "Copy the next step's data in a stream of its own while kernels of this step run, with "
        "an event between the two; two buffers are enough.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/"
        "#asynchronous-and-overlapping-transfers-with-computation",
    .mistaken = "Each kernel needs the copy before it, and there is nothing else to compute.",
};

}  // namespace gpuprof::findings
