// The host is outside CUDA while the GPU is idle.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule host_away{
    .id = "host_away",
    .title = "The GPU waits while the host is in no call of CUDA",
    .order = 50,
    .needs = {gaps, device_times, calls},
    .when =
        "Time in no call of CUDA, in gaps longer than 50 us, and of launching there, at most as "
        "long, without what blocking_waits counts",
    .least_share = 0.01,
    .sql =
        R"(  SELECT device, 'no call' AS part, min(no_call, last - first) - min(no_call, saved) AS ns,
         1 AS count, first, last, what
  FROM gaps
  WHERE length > 50000
  UNION ALL
  SELECT device, 'launch', min(launch, no_call) - min(launch, saved - min(no_call, saved)), 1,
         first, last, what
  FROM gaps
  WHERE length > 50000)",
    .bound =
        "Of each gap, the part is saved in which the host did something else. As it did that "
        "already before the gap began, it would be ahead with what it launches then.",
    .mends = simulate::away,
    .confidence = Confidence::medium,
    .reason =
        "Whether the host could do that at another time is not known; --host-samples shows what it "
        "was.",
    .fix =
        "Find what the host does there: reading and preparing data (more workers, "
        "prefetching), Python, logging, other processes. Do it on another thread, or before "
        "the GPU runs out of work.",
    .link = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    .mistaken =
        "Setting up, or a pause between two requests of a server: choose the steps with "
        "--nvtx, --from and --to.",
};

}  // namespace gpuprof::findings
