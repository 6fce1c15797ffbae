// Accesses of global memory that use little of what they move.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule scattered_accesses{
    .id = "scattered_accesses",
    .title = "Kernels use less than half of the bytes that their accesses move",
    .order = 135,
    .needs = {{.table = "METRIC_VALUE", .otherwise = no_efficiency, .rows = true},
              {.table = "StringTable", .otherwise = no_kernel_names, .rows = true},
              {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
               .otherwise = no_kernels,
               .rows = true}},
    .when =
        "Kernels of which gld_efficiency or gst_efficiency is below 50 %; of their time the share "
        "that "
        "is missing from 100 %",
    .least_share = 0.02,
    .sql = R"(  WITH measured AS (
    SELECT device_id AS device, name AS function, metric, avg(value) AS percent
    FROM kernel_metrics
    WHERE metric IN ('gld_efficiency', 'gst_efficiency')
    GROUP BY device_id, name, metric),
  least AS (SELECT device, function, min(percent) AS percent FROM measured
            WHERE percent > 0 GROUP BY device, function)
  SELECT k.device, 'compute' AS part, sum(CAST(k.ns * (1 - m.percent / 100) AS INTEGER)) AS ns,
         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what
  FROM kernel_launches AS k
  JOIN StringTable AS n ON n._id_ = k.name
  JOIN least AS m ON m.device = k.device AND m.function = coalesce(n.demangled, n.value)
  WHERE m.percent < 50
  GROUP BY k.device, k.name)",
    .bound = "If the kernel only moved bytes, it would need the share that is used.",
    .confidence = Confidence::low,
    .reason = "How much of a kernel's time its accesses take is not in these metrics.",
    .fix =
        "Let neighbouring threads access neighbouring addresses: structures of arrays, transposing "
        "in "
        "shared memory, rows of a multiple of 32 bytes.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/"
        "#coalesced-access-to-global-memory",
    .mistaken =
        "Gathering from random places, which has no better order; kernels that compute much for "
        "each byte.",
};

}  // namespace gpuprof::findings
