// Memory is allocated and freed while the GPU has nothing to do.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"
#include "libprof/conclude/simulate/functions.hpp"

namespace gpuprof::findings {

extern const Rule allocations{
    .id = "allocations",
    .title = "The GPU waits while the host allocates or frees memory",
    .order = 10,
    .needs = {{.table = "API_NAME", .otherwise = not_of_gpuprof, .rows = true},
              {.table = "api_calls", .otherwise = calls_not_recorded, .rows = true}},
    .when =
        "Idle time between works in which the host was in cudaMalloc, cudaFree, cudaHostAlloc, "
        "cudaHostRegister or a function of their kind; those that are ordered in a stream do "
        "not count",
    .least_share = 0.01,
    .sql = R"(  SELECT a.device, a.part, a.ns, a.count, NULL AS first, NULL AS last,
         substr(n.name, 1, instr(n.name || '_', '_') - 1) AS what
  FROM account AS a
  JOIN API_NAME AS n ON n.domain = a.domain AND n.cbid = a.cause
  WHERE a.part = 'call'
    AND )" GPUPROF_ALLOCATES,
    .bound = "Without these calls, the idle time in them is saved and nothing else.",
    .mends = simulate::allocating,
    .confidence = Confidence::high,
    .reason = "The GPU had no work while the host was in the call.",
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
