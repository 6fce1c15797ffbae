// Warps that wait for the fixed time of their own instructions, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule fixed_latencies{
    .id = "fixed_latencies",
    .title = "Warps of kernels wait for the result of their previous instruction",
    .order = 152,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 30 % of the PC samples are of warps that wait a fixed time "
        "after an instruction, or for its dispatch and whose scheduler issues nothing; that share "
        "of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'wait', 'dispatch_stall'", "0.3"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Let each thread do several independent things: unroll loops, compute two or more results, "
        "or have more warps on a multiprocessor.",
    .link = about_warp_states,
    .mistaken = "Short kernels, most of which is starting.",
};

}  // namespace gpuprof::findings
