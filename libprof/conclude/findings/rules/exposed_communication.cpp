// GPUs wait for one another, and nothing computes meanwhile.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule exposed_communication{
    .id = "exposed_communication",
    .title = "Communication between GPUs is not hidden by computing",
    .order = 110,
    .needs = {kernel_names},
    .when =
        "Time in which kernels of NCCL's operations ran and no others: those that it reported, and "
        "in processes that did not report the kernels of all, those whose name begins with nccl",
    .least_share = 0.01,
    .sql = R"(  SELECT a.device, a.part, a.ns, a.count, NULL AS first, NULL AS last,
         (SELECT c.what FROM communication AS c CROSS JOIN span AS s
          WHERE c.device = a.device AND c.first < s.last AND c.last > s.first
          GROUP BY c.what ORDER BY sum(c.last - c.first) DESC, c.what LIMIT 1) AS what
  FROM account AS a
  WHERE a.part = 'communication')",
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
        "The step has nothing to compute that does not need the data. Kernels of NVSHMEM, MSCCL++ "
        "and of programs' own count as computing.",
};

}  // namespace gpuprof::findings
