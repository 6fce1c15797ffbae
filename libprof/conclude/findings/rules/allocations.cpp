// Memory is allocated and freed while the GPU has nothing to do.
#include "libprof/conclude/findings/idle_in_calls.hpp"
#include "libprof/conclude/simulate/functions.hpp"

namespace gpuprof::findings {

extern const Rule allocations{
    .id = "allocations",
    .title = "The GPU waits while the host allocates or frees memory",
    .order = 10,
    .needs = {names_of_calls, calls},
    .when =
        "Idle time between works in which the host was in cudaMalloc, cudaFree, cudaHostAlloc, "
        "cudaHostRegister or a function of their kind; those that are ordered in a stream do "
        "not count",
    .least_share = 0.01,
    .sql = GPUPROF_IDLE_IN_CALLS(GPUPROF_ALLOCATES),
    .bound = only_idle_time,
    .mends = simulate::allocating,
    .confidence = Confidence::high,
    .reason = no_work_meanwhile,
    .fix =
        "Allocate once, before the steps, and reuse the memory: an allocator with a cache "
        "(PyTorch's), a pool, or cudaMallocAsync with a release threshold.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#stream-ordered-memory-allocator",
    .mistaken =
        "A program that allocates once, after its first work on the GPU: a longer run has the "
        "same time with more steps.",
};

}  // namespace gpuprof::findings
