// Kernels whose last wave of blocks leaves room.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule partial_waves{
    .id = "partial_waves",
    .title = "The last wave of blocks of kernels leaves multiprocessors idle",
    .order = 125,
    .needs = {launch_shapes, kernels},
    .when =
        "Kernels with one to four waves of blocks; of their time the share of the room of all "
        "waves that the last one leaves empty",
    .least_share = 0.05,
    .sql = R"(  SELECT k.device, 'compute' AS part, sum(CAST(k.ns * o.tailShare AS INTEGER)) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
)" GPUPROF_JOIN_LAUNCH_SHAPE R"(  WHERE o.waves BETWEEN 1 AND 4 AND o.tailShare > 0
  GROUP BY k.device, k.name)",
    .bound = "If all waves were full and took the same time, the work would need that much less.",
    .mends = simulate::kernels,
    .confidence = Confidence::low,
    .reason = "Blocks do not take the same time, and those of the next kernel may fill the room.",
    .fix =
        "Choose the number of blocks or their size so that waves are full (view kernels, waves), "
        "let blocks take work until it is done (a persistent kernel, stream-K), or run other "
        "kernels at the same time.",
    .link =
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/"
        "index.html#wave-quant",
    .mistaken = "Blocks that end early make room for others before the wave is over.",
};

}  // namespace gpuprof::findings
