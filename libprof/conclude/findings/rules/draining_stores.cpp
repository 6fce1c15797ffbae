// Warps that have ended and wait for their stores, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule draining_stores{
    .id = "draining_stores",
    .title = "Warps of kernels have ended and wait until their results are written",
    .order = 149,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 10 % of the PC samples are of warps that have ended and wait "
        "until memory has taken what they stored and whose scheduler issues nothing; that share of "
        "their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'drain'", "0.1"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Spread the stores over the kernel, let neighbouring threads store to neighbouring "
        "addresses, and let a block work on several tiles (a persistent kernel).",
    .link = about_warp_states,
    .mistaken = "Kernels that do little but store.",
};

}  // namespace gpuprof::findings
