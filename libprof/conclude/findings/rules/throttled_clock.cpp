// A clock below that of the device, for heat or power.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule throttled_clock{
    .id = "throttled_clock",
    .title = "Heat or power keep the GPU's clock low",
    .order = 111,
    .needs = {{.table = "CUPTI_ACTIVITY_KIND_ENVIRONMENT", .otherwise = no_clocks, .rows = true},
              devices},
    .when =
        "Readings of the clock in which the driver limited it because of power or heat; of the "
        "time of computing the share by which the clock was below the device's, on average over "
        "all readings",
    .least_share = 0.03,
    .sql = R"(  WITH clocks AS (
    SELECT e.deviceId AS device, e.timestamp AS time,
           CASE WHEN e.clocksThrottleReasons & 12
                THEN max(0.0, 1 - e.smClock * 1000.0 / d.coreClockRate) ELSE 0 END AS slower
    FROM CUPTI_ACTIVITY_KIND_ENVIRONMENT AS e CROSS JOIN span AS s
    JOIN CUPTI_ACTIVITY_KIND_DEVICE AS d ON d.id = e.deviceId
    WHERE e.environmentKind = 1 AND e.smClock > 0 AND d.coreClockRate > 0
      AND e.timestamp BETWEEN s.first AND s.last)
  SELECT a.device, a.part, CAST(a.ns * avg(c.slower) AS INTEGER) AS ns,
         sum(c.slower > 0) AS count, min(CASE WHEN c.slower > 0 THEN c.time END) AS first,
         max(CASE WHEN c.slower > 0 THEN c.time END) AS last, NULL AS what
  FROM account AS a
  JOIN clocks AS c ON c.device = a.device
  WHERE a.part = 'compute'
  GROUP BY a.device, a.part)",
    .bound =
        "If kernels only needed cycles, they would be faster by the share that the clock lacks.",
    .confidence = Confidence::medium,
    .reason = "Kernels that wait for memory are hardly faster with a higher clock.",
    .fix =
        "Look at nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE: cooling, the power limit "
        "(nvidia-smi -pl), neighbours in the same chassis. Lower precision needs less power.",
    .link = "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    .mistaken = "The device's clock is one that no work of this kind can keep up.",
};

}  // namespace gpuprof::findings
