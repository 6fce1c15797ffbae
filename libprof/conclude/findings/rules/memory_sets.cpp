// Many memory sets with nothing at the same time.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule memory_sets{
    .id = "memory_sets",
    .title = "Many memory sets keep the GPU from computing",
    .order = 100,
    .needs = {{.table = "CUPTI_ACTIVITY_KIND_MEMSET", .otherwise = no_sets}},
    .when = "More than 1,000 memory sets",
    .least_share = 0.01,
    .sql = R"(  SELECT m.deviceId AS device, 'set' AS part,
         sum(min(m."end", s.last) - max(m.start, s.first)) AS ns, count(*) AS count,
         min(max(m.start, s.first)) AS first, max(min(m."end", s.last)) AS last, NULL AS what
  FROM CUPTI_ACTIVITY_KIND_MEMSET AS m CROSS JOIN span AS s
  WHERE 0 < m.start AND m.start < m."end" AND m.start < s.last AND m."end" > s.first
  GROUP BY m.deviceId
  HAVING count(*) > 1000)",
    .bound = "Time counts in which the device set memory and did nothing else.",
    .mends = simulate::sets,
    .confidence = Confidence::medium,
    .reason = "Whether the memory has to be set depends on the program.",
    .fix =
        "Leave out zeroing what is overwritten (torch.empty, zero_grad(set_to_none=True)), set "
        "several buffers at once, or let the kernel do it that writes first.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#memory-optimizations",
    .mistaken = "Libraries set their workspaces: then only fewer calls of the library help.",
};

}  // namespace gpuprof::findings
