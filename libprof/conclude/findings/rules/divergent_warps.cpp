// Warps whose threads go different ways, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule divergent_warps{
    .id = "divergent_warps",
    .title = "The threads of warps take different paths",
    .order = 137,
    .needs = {measured("name = 'warp_execution_efficiency'"), kernel_names, kernels},
    .when =
        "Kernels of which warp_execution_efficiency is below 75 %, that is fewer than 24 of 32 "
        "threads run on average; of their time the share that is missing from 100 %",
    .least_share = 0.02,
    .sql = GPUPROF_LOW_EFFICIENCY("'warp_execution_efficiency'", "75"),
    .bound =
        "If all threads of the warps always ran, the same instructions would be issued in the "
        "share that is used.",
    .confidence = Confidence::low,
    .reason = "How much of the time is issuing instructions takes --set compute.",
    .fix =
        "Sort the work so that neighbouring threads do the same, replace branches by selection, "
        "and choose block sizes that are multiples of 32.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#branching-and-divergence",
    .mistaken = "Kernels that wait for memory: instructions are not what takes their time.",
};

}  // namespace gpuprof::findings
