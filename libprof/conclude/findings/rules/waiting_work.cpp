// Work that is launched and does not begin.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule waiting_work{
    .id = "waiting_work",
    .title = "The GPU is idle though its next work is launched",
    .order = 55,
    .needs = {gaps, device_times, calls},
    .when =
        "Time in gaps longer than 10 us in which the work after the gap was launched already, from "
        "10 us after its call on",
    .least_share = 0.02,
    .sql =
        R"(  SELECT device, 'queued' AS part, min(queued, last - first) AS ns, 1 AS count, first, last,
         what
  FROM gaps
  WHERE length > 10000 AND queued > 0)",
    .bound = "If the work waited for nothing, it would begin some 10 us after its launch.",
    .mends = simulate::queued,
    .confidence = Confidence::medium,
    .reason = "What the work waits for is recorded only if it is an event.",
    .fix =
        "Find what it waits for (--dependency-analysis; the queries waits and gaps): events of "
        "other streams that no result needs, host functions (cudaLaunchHostFunc), another GPU or "
        "rank, memory that has to migrate.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#events",
    .mistaken =
        "Work that needs what another GPU or the host computes: then that is what takes long.",
};

}  // namespace gpuprof::findings
