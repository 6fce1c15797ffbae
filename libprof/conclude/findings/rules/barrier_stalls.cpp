// Warps that wait for the others of their block, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule barrier_stalls{
    .id = "barrier_stalls",
    .title = "Warps of kernels wait for others of their block",
    .order = 143,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 10 % of the PC samples are of warps that wait at a barrier or "
        "fence and whose scheduler issues nothing; that share of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'barrier', 'membar'", "0.1"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Give the warps of a block the same work, use smaller blocks, and replace "
        "__syncthreads() by __syncwarp() or named barriers where not all warps need each other.",
    .link = about_warp_states,
    .mistaken = "Blocks that wait for data that some of their warps load.",
};

}  // namespace gpuprof::findings
