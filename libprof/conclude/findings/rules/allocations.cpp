// Memory is allocated and freed while the GPU has nothing to do.
#include "libprof/conclude/findings/idle_in_calls.hpp"
#include "libprof/conclude/simulate/functions.hpp"

namespace gpuprof::findings {

extern const Rule allocations{
    .id = "allocations",
    .title = "The GPU waits while the host allocates or frees memory",
    .order = 10,
    .needs = {names_of_calls, calls, gaps},
    .when =
        "Idle time between works in which the host was in cudaMalloc, cudaFree, cudaHostAlloc, "
        "cudaHostRegister or a function of their kind; those that are ordered in a stream do "
        "not count. Of a gap that began in such a call, which waits for the GPU, also what the "
        "host "
        "did until the next launch, at most as long as it had been in the call",
    .least_share = 0.01,
    .sql = R"(  WITH waits AS (
    SELECT m.correlationId >> 32 AS process, r.start AS time, r."end" AS until, r.start AS began,
           NULL AS device
    FROM CUPTI_ACTIVITY_KIND_MEMORY2 AS m
    CROSS JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = m.correlationId
    WHERE m.correlationId <> 0 AND NOT m.isAsync
    UNION ALL
    SELECT correlationId >> 32, start, NULL, NULL, deviceId FROM GPU_GAP),
  waited AS (
    SELECT device, time, max(until) OVER p > time AS in_it, time - max(began) OVER p AS ahead
    FROM waits
    WINDOW p AS (PARTITION BY process ORDER BY time, device ROWS UNBOUNDED PRECEDING)),
  later AS (
    SELECT g.device, min(g.no_call, w.ahead) AS no_call,
           min(g.launch, w.ahead - min(g.no_call, w.ahead)) AS launch, g.first, g.last, g.what
    FROM waited AS w
    JOIN gaps AS g ON g.device = w.device AND g.first = w.time
    WHERE w.in_it)
)" GPUPROF_IDLE_IN_CALLS(GPUPROF_ALLOCATES) R"(
  UNION ALL
  SELECT device, 'no call', no_call, 1, first, last, what FROM later
  UNION ALL
  SELECT device, 'launch', launch, 1, first, last, what FROM later)",
    .bound =
        "Without these calls, the idle time in them is saved, and the host is ahead by the time "
        "that "
        "it waited in them.",
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
