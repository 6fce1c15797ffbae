// Warps that wait for memory, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule memory_stalls{
    .id = "memory_stalls",
    .title = "Warps of kernels wait for memory",
    .order = 142,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 30 % of the PC samples are of warps that wait for global or "
        "local memory and whose scheduler issues nothing; that share of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'long_scoreboard'", "0.3"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Find the lines with gpuprof kernels: wider and contiguous accesses, loads before they are "
        "needed (cp.async, TMA, unrolling), data in shared memory, more warps.",
    .link = about_warp_states,
    .mistaken =
        "Kernels that need all of the bandwidth of memory: waiting less does not make it carry "
        "more.",
};

}  // namespace gpuprof::findings
