// Many kernels that are hardly longer than the shortest possible.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule short_kernels{
    .id = "short_kernels",
    .title = "Many kernels are so short that starting them is much of their time",
    .order = 155,
    .needs = {kernel_times, kernels},
    .when =
        "Kernels of at most 10 us on average with at least 1000 launches; for each launch the "
        "duration of the shortest kernel of the run",
    .least_share = 0.05,
    .sql = R"(  WITH shortest AS (
    SELECT deviceId AS device, min(shortest) AS ns FROM KERNEL_TIME
    WHERE shortest > 0
    GROUP BY deviceId)
  SELECT k.device, 'compute' AS part, min(sum(k.ns), sum(k.count) * max(s.ns)) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN shortest AS s ON s.device = k.device
  GROUP BY k.device, k.name
  HAVING sum(k.count) >= 1000 AND sum(k.ns) <= 10000 * sum(k.count))",
    .bound =
        "No kernel of the run is shorter than that, so much of a short one is what each needs to "
        "start and to end; kernels that are fused need it once.",
    .confidence = Confidence::low,
    .reason = "Which kernels can be fused is not recorded.",
    .fix =
        "Fuse elementwise kernels (torch.compile, foreach and fused optimizers, CUTLASS "
        "epilogues), or let one kernel work on several tensors or a larger batch.",
    .link = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    .mistaken = "The shortest kernel of the run has work to do, too.",
};

}  // namespace gpuprof::findings
