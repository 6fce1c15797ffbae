// Warps that wait for an arithmetic unit, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule busy_pipes{
    .id = "busy_pipes",
    .title = "Warps of kernels wait for an arithmetic unit that is busy",
    .order = 151,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 30 % of the PC samples are of warps that wait for an "
        "arithmetic unit that is busy and whose scheduler issues nothing; that share of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'math_pipe_throttle'", "0.3"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Find the unit with --set compute: use tensor cores for matrix products, FP32 instead of "
        "FP64, fewer conversions, integer divisions and special functions.",
    .link = about_warp_states,
    .mistaken =
        "Kernels that compute as much as the unit can: there is nothing to mend but the algorithm.",
};

}  // namespace gpuprof::findings
