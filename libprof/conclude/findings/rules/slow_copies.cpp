// Copies that do not use the link to the host.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule slow_copies{
    .id = "slow_copies",
    .title = "Large copies use less than half of the bandwidth of the link",
    .order = 85,
    .needs = {copies, {.table = "CUPTI_ACTIVITY_KIND_PCIE", .otherwise = no_links, .rows = true}},
    .when =
        "Copies of at least 1 MiB between host and device, of memory that is not pageable, at less "
        "than half of what PCIe carries in the generation and width of the GPU's link; the time "
        "that they take beyond that of the same bytes at the full rate",
    .least_share = 0.01,
    // Gigabytes in a second of a lane, in thousandths.
    .sql = R"(  WITH links AS (
    SELECT deviceId AS device,
           max(pcieLane * linkWidth) / 1000.0 AS speed
    FROM (SELECT deviceId, linkWidth,
                 CASE pcieGeneration WHEN 1 THEN 250 WHEN 2 THEN 500 WHEN 3 THEN 985
                                     WHEN 4 THEN 1969 WHEN 5 THEN 3938 WHEN 6 THEN 7563
                 END AS pcieLane
          FROM CUPTI_ACTIVITY_KIND_PCIE
          WHERE type = 0)
    GROUP BY deviceId)
  SELECT m.deviceId AS device, 'copy ' || m.copyKind AS part,
         sum(min(m."end", s.last) - max(m.start, s.first) -
             CAST(m.bytes / l.speed AS INTEGER)) AS ns,
         count(*) AS count, min(max(m.start, s.first)) AS first,
         max(min(m."end", s.last)) AS last, NULL AS what
  FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m CROSS JOIN span AS s
  JOIN links AS l ON l.device = m.deviceId
  WHERE m.copyKind IN (1, 2) AND m.srcKind <> 1 AND m.dstKind <> 1 AND m.bytes >= 1048576
    AND 0 < m.start AND m.start < m."end" AND m.start < s.last AND m."end" > s.first
    AND m.bytes < (m."end" - m.start) * l.speed / 2
  GROUP BY m.deviceId, m.copyKind)",
    .bound = "The link carries no more than its full rate.",
    .confidence = Confidence::medium,
    .reason = "What else used the link or the host's memory is not recorded.",
    .fix =
        "Keep process and memory on the CPUs next to the GPU (numactl, or the launcher's binding), "
        "avoid copies of several GPUs at the same time over one switch, and look at the link: "
        "nvidia-smi topo -m and nvidia-smi -q -d PCIE.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/"
        "#data-transfer-between-host-and-device",
    .mistaken =
        "A virtual machine that describes another link than it has; GPUs that share a link; copies "
        "in both directions at the same time.",
};

}  // namespace gpuprof::findings
