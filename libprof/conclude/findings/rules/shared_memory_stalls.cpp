// Warps that wait for shared memory or the units that share its queue, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule shared_memory_stalls{
    .id = "shared_memory_stalls",
    .title = "Warps of kernels wait for shared memory or special functions",
    .order = 146,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 30 % of the PC samples are of warps that wait for shared "
        "memory, special functions or their queue and whose scheduler issues nothing; that share "
        "of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'short_scoreboard', 'mio_throttle'", "0.3"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Use wider accesses of shared memory (8 or 16 bytes a thread), avoid bank conflicts, keep "
        "values in registers or shuffle them, and call fewer special functions (__expf, rsqrtf, "
        "divisions).",
    .link = about_warp_states,
    .mistaken =
        "Matrix products that read their tiles from shared memory as fast as it delivers them.",
};

}  // namespace gpuprof::findings
