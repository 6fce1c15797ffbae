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
        "Kernels of NCCL's collectives that each GPU of the file ran the same number of times; "
        "what each took longer than the same one, by number, on the GPU where it was shortest",
    .least_share = 0.01,
    .sql = R"(  WITH names AS (
    SELECT _id_ AS id FROM StringTable
    WHERE coalesce(demangled, value) GLOB 'nccl*' AND value NOT GLOB '*SendRecv*'),
  any_names AS (SELECT 1 FROM names LIMIT 1),
  collectives AS (
    SELECT k.deviceId AS device, k.name AS name, k.start AS first, k."end" AS last,
           row_number() OVER (PARTITION BY k.deviceId, k.name ORDER BY k.start) AS place
    FROM any_names CROSS JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k
    WHERE k.name IN (SELECT id FROM names) AND 0 < k.start AND k.start < k."end"),
  alike AS (
    SELECT name FROM collectives
    GROUP BY name
    HAVING count(DISTINCT device) > 1 AND count(*) = count(DISTINCT device) * max(place)),
  compared AS (
    SELECT *, last - first - min(last - first) OVER (PARTITION BY name, place) AS waited
    FROM collectives
    WHERE name IN (SELECT name FROM alike))
  SELECT c.device, 'communication' AS part, sum(c.waited) AS ns, count(*) AS count,
         min(c.first) AS first, max(c.last) AS last, c.name AS what
  FROM compared AS c CROSS JOIN span AS s
  WHERE c.waited > 0 AND c.first < s.last AND c.last > s.first
  GROUP BY c.device, c.name)",
    .bound =
        "A collective is over when the last GPU has come: if all came at the same time, each would "
        "take what it takes that one.",
    .confidence = Confidence::medium,
    .reason =
        "Which kernels belong to one collective is not recorded; they are compared in their order.",
    .fix =
        "Give all GPUs the same work (batches of one length, balanced experts and stages), and "
        "look at the GPU whose collectives are shortest: its kernels, its clock, its data loader. "
        "gpuprof cluster compares ranks in several files.",
    .link = "https://docs.pytorch.org/docs/stable/notes/ddp.html",
    .mistaken =
        "Several communicators of the same kind with different members, whose collectives are then "
        "taken for one another.",
};

}  // namespace gpuprof::findings
