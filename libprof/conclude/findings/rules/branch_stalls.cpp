// Warps that wait for branches or sleep, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule branch_stalls{
    .id = "branch_stalls",
    .title = "Warps of kernels wait for branches or sleep",
    .order = 147,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 10 % of the PC samples are of warps that wait for the target "
        "of a branch, or sleep and whose scheduler issues nothing; that share of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'branch_resolving', 'sleeping'", "0.1"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Replace short branches by selection, unroll loops whose body is short, and wait for "
        "others with mbarrier or cooperative groups, not in a loop with __nanosleep().",
    .link = about_warp_states,
    .mistaken =
        "Kernels that wait for another GPU or for the host on purpose, as those of communication "
        "do.",
};

}  // namespace gpuprof::findings
