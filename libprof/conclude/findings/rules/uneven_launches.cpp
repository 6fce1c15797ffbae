// Launches that take longer than others of the same kind.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule uneven_launches{
    .id = "uneven_launches",
    .title = "Some launches of a kernel take much longer than others that are alike",
    .order = 150,
    .needs = {kernel_times, kernels},
    .when =
        "Kernels with at least 20 launches of one shape, of which one in a hundred or more took "
        "over 1.5 times the median; their time beyond the median",
    .least_share = 0.02,
    .sql = R"(  SELECT k.device, 'compute' AS part, sum(k.ns) - sum(k.count) * max(t.median) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN KERNEL_TIME AS t ON t.deviceId = k.device AND t.name = k.name
  WHERE t.p99 > 1.5 * t.median
  GROUP BY k.device, k.name
  HAVING sum(k.count) >= 20 AND min(k.blocks) = max(k.blocks) AND min(k.threads) = max(k.threads)
     AND min(k.shared_memory) = max(k.shared_memory) AND sum(k.ns) > sum(k.count) * max(t.median))",
    .bound = "If all launches took as long as the median, they would need that much less.",
    .mends = simulate::kernels,
    .confidence = Confidence::low,
    .reason = "Whether the launches have the same work to do is not recorded.",
    .fix =
        "Look at the longest launches (view kernels, by duration): if those of several kernels are "
        "long at the same time, it is the clock or another process; if copies or other streams run "
        "meanwhile, it is memory; otherwise it is the data.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#performance-metrics",
    .mistaken = "Launches with the same grid and different data, as of matrices of several depths.",
};

}  // namespace gpuprof::findings
