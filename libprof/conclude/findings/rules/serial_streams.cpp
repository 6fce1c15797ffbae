// Small kernels of several streams that do not overlap.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule serial_streams{
    .id = "serial_streams",
    .title = "Small kernels in several streams run one after the other",
    .order = 115,
    .needs = {kernels, devices},
    .when =
        "Kernels with fewer blocks than multiprocessors, where several streams have 5 % of the "
        "time of kernels each: their time without that of the longest stream, as far as kernels "
        "do not overlap already",
    .least_share = 0.05,
    .sql = R"(  WITH processors AS (
    SELECT id AS device, max(numMultiprocessors) AS count
    FROM CUPTI_ACTIVITY_KIND_DEVICE
    GROUP BY id),
  streams AS (
    SELECT k.device, k.process, k.stream, sum(k.ns) AS ns,
           sum(CASE WHEN k.blocks < p.count THEN k.ns ELSE 0 END) AS small,
           sum(CASE WHEN k.blocks < p.count THEN k.count ELSE 0 END) AS count,
           min(k.first) AS first, max(k.last) AS last
    FROM kernel_launches AS k
    JOIN processors AS p ON p.device = k.device
    GROUP BY k.device, k.process, k.stream),
  ordered AS (
    SELECT *, sum(ns) OVER (PARTITION BY device) AS all_ns,
           row_number() OVER (PARTITION BY device ORDER BY ns DESC, process, stream) AS place,
           max(ns) OVER (PARTITION BY device) AS longest
    FROM streams)
  SELECT o.device, 'compute' AS part,
         min(sum(o.small), max(0, (SELECT sum(a.ns) FROM account AS a
                                   WHERE a.device = o.device AND a.part = 'compute') -
                                  max(o.longest))) AS ns,
         sum(o.count) AS count, min(o.first) AS first, max(o.last) AS last, NULL AS what
  FROM ordered AS o
  WHERE o.place > 1 AND o.ns >= 0.05 * o.all_ns AND o.small > 0
  GROUP BY o.device)",
    .bound =
        "If these kernels ran at the same time as others, their time would be hidden; the longest "
        "stream needs its time in any case.",
    .mends = simulate::streams,
    .confidence = Confidence::low,
    .reason = "Whether kernels of different streams need each other's results is not recorded.",
    .fix =
        "Work in the default stream waits for that of other streams and they wait for it: create "
        "streams with cudaStreamNonBlocking, or compile with --default-stream per-thread. Leave "
        "out events that no result needs.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#streams",
    .mistaken = "The streams take turns because each needs the other's result.",
};

}  // namespace gpuprof::findings
