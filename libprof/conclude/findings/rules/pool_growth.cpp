// Pools of memory grow and shrink while the GPU has nothing to do.
#include "libprof/conclude/findings/idle_in_calls.hpp"
#include "libprof/conclude/simulate/functions.hpp"

namespace gpuprof::findings {

extern const Rule pool_growth{
    .id = "pool_growth",
    .title = "The GPU waits while the host allocates from pools or trims them",
    .order = 15,
    .needs = {names_of_calls, calls},
    .when =
        "Idle time between works in which the host was in cudaMallocAsync, cudaFreeAsync, "
        "cudaMemPoolTrimTo or a function of their kind, and in synchronizations if a pool "
        "is larger than its release threshold, since these then give memory back",
    .least_share = 0.01,
    .sql = GPUPROF_IDLE_IN_CALLS("(" GPUPROF_USES_POOLS " OR " GPUPROF_TRIMS_POOLS ")"),
    .bound = only_idle_time,
    .mends = simulate::pools,
    .confidence = Confidence::medium,
    .reason = "The calls are short where a pool has the memory, and then save little.",
    .fix =
        "Let the pool keep its memory: cudaMemPoolAttrReleaseThreshold, which is 0, so that each "
        "synchronization returns what is unused. gpuprof memory says how often pools grow again.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#stream-ordered-memory-allocator",
    .mistaken = "The first step of a program, in which its pools get their memory.",
};

}  // namespace gpuprof::findings
