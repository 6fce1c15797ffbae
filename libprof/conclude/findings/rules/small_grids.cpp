// Kernels that leave multiprocessors without a block.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule small_grids{
    .id = "small_grids",
    .title = "Kernels have fewer blocks than the GPU has multiprocessors",
    .order = 120,
    .needs = {kernels, devices},
    .when =
        "Kernels with fewer blocks than multiprocessors; of their time the share of "
        "multiprocessors that got no block",
    .least_share = 0.01,
    .sql = R"(  WITH processors AS (
    SELECT id AS device, max(numMultiprocessors) AS count
    FROM CUPTI_ACTIVITY_KIND_DEVICE
    GROUP BY id)
  SELECT k.device, 'compute' AS part, sum(k.ns * (p.count - k.blocks) / p.count) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN processors AS p ON p.device = k.device
  WHERE k.blocks BETWEEN 1 AND p.count - 1
  GROUP BY k.device, k.name)",
    .bound =
        "If all multiprocessors shared the work, it would take the share of those that do it "
        "now.",
    .mends = simulate::kernels,
    .confidence = Confidence::low,
    .reason = "How much of a kernel's time more blocks would share is not recorded.",
    .fix =
        "Launch more blocks: split the work further (split-K, several blocks for one "
        "reduction), use larger batches, or run such kernels in several streams at the same "
        "time.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#thread-and-block-heuristics",
    .mistaken =
        "Kernels of a few microseconds, most of which is starting; kernels at the same time as "
        "others.",
};

}  // namespace gpuprof::findings
