// GPUs that wait in collectives for the slowest of them.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule late_ranks{
    .id = "late_ranks",
    .title = "GPUs wait in collectives for one that comes later",
    .order = 109,
    .needs = {{.table = "DEVICE_TIME",
               .otherwise = one_gpu,
               .rows = true,
               .where = "deviceId > (SELECT min(deviceId) FROM DEVICE_TIME)"},
              kernel_names,
              kernels},
    .when =
        "Operations of NCCL, if it reported them, of which all ranks are in the file: how long "
        "each "
        "rank's kernel ran before the last one began. Otherwise kernels of collectives that each "
        "GPU of the file ran the same number of times: what each took longer than the same one, by "
        "number, on the GPU where it was shortest",
    .least_share = 0.01,
    .sql = R"(  SELECT c.device, 'communication' AS part, sum(c.wait) AS ns, count(*) AS count,
         min(c.first) AS first, max(c.last) AS last, c.what
  FROM communication AS c CROSS JOIN span AS s
  WHERE c.wait > 0 AND c.first < s.last AND c.last > s.first
  GROUP BY c.device, c.what)",
    .bound =
        "A collective is over when the last GPU has come: if all came at the same time, each would "
        "take what it takes that one.",
    .confidence = Confidence::medium,
    .reason =
        "Where NCCL did not report its operations, kernels are compared in their order, which need "
        "not be one collective.",
    .fix =
        "Give all GPUs the same work (batches of one length, balanced experts and stages), and "
        "look at the GPU whose collectives are shortest: its kernels, its clock, its data loader. "
        "gpuprof cluster compares ranks in several files.",
    .link = "https://docs.pytorch.org/docs/stable/notes/ddp.html",
    .mistaken =
        "Without NCCL's reports: several communicators of the same kind with different members, "
        "whose collectives are then taken for one another.",
};

}  // namespace gpuprof::findings
