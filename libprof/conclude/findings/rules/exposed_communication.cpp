// GPUs wait for one another, and nothing computes meanwhile.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule exposed_communication{
    .id = "exposed_communication",
    .title = "Communication between GPUs is not hidden by computing",
    .order = 110,
    .needs = {kernel_names},
    .when = "Time in which NCCL's kernels ran and no others",
    .least_share = 0.01,
    .sql = R"(  SELECT device, part, ns, count, NULL AS first, NULL AS last, NULL AS what
  FROM account
  WHERE part = 'communication')",
    .bound = "If computing hid all communication, this time would not be there.",
    .confidence = Confidence::medium,
    .reason =
        "NCCL's kernels also run while they wait for a slower GPU, which the file of one rank "
        "does not show.",
    .fix =
        "Start communication as soon as its data is there: smaller buckets in "
        "DistributedDataParallel, prefetching in FSDP. Send less: gradient accumulation, BF16. "
        "Look for the slowest GPU.",
    .link = "https://docs.pytorch.org/docs/stable/notes/ddp.html",
    .mistaken =
        "The step has nothing to compute that does not need the data. Only kernels whose name "
        "begins with nccl count as communication: those of NVSHMEM, MSCCL++ and of programs' "
        "own count as computing.",
};

}  // namespace gpuprof::findings
