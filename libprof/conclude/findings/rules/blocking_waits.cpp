// The GPU runs dry because the host waits for it.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule blocking_waits{
    .id = "blocking_waits",
    .title = "The GPU runs out of work because the host waits for it",
    .order = 30,
    .needs = {gaps, device_times, calls},
    .when =
        "Gaps that began while a synchronization or a copy made the host wait (view "
        "blocking_calls), in the process whose work ended them; together no more than the host "
        "has waited until then",
    .least_share = 0.02,
    .sql =
        R"(  SELECT device, 'no call' AS part, min(no_call, saved) AS ns, 1 AS count, first, last, what
  FROM gaps
  WHERE after_wait
  UNION ALL
  SELECT device, 'launch', min(launch, saved - min(no_call, saved)), 1, first, last, what
  FROM gaps
  WHERE after_wait
  UNION ALL
  SELECT device, 'call',
         min(length - no_call - launch - queued, saved - min(no_call + launch, saved)), 1,
         first, last, what
  FROM gaps
  WHERE after_wait)",
    .bound =
        "Without the waits, the host would be ahead by the time that it waited, and work after "
        "such a gap would be there that much earlier. Gaps that began otherwise are not in the "
        "number.",
    .mends = simulate::waits,
    .confidence = Confidence::medium,
    .reason = "Whether the host needed the result that it waited for is not recorded.",
    .fix =
        "Wait less often: keep results on the GPU (.item(), .cpu() and print wait), check them "
        "every N steps, wait for an event instead of the device, and launch the next step "
        "before the wait.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#asynchronous-concurrent-execution",
    .mistaken = "The host needs each result to decide what comes next.",
};

}  // namespace gpuprof::findings
