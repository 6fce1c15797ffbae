// Warps that wait for room in the queue of global, local or texture accesses, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule narrow_accesses{
    .id = "narrow_accesses",
    .title = "Warps of kernels wait because there are too many accesses of memory",
    .order = 144,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 10 % of the PC samples are of warps that wait for room in the "
        "queue of global, local or texture accesses and whose scheduler issues nothing; that share "
        "of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'lg_throttle', 'tex_throttle'", "0.1"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Let each thread access 8 or 16 bytes at a time (float4, int4), and avoid spills and "
        "accesses that repeat.",
    .link = about_warp_states,
    .mistaken =
        "Kernels that need all of the bandwidth of memory: fewer requests do not make it carry "
        "more.",
};

}  // namespace gpuprof::findings
