-- What the device's counters said while a kernel ran (--pm-sampling): one row per metric and kernel
-- that was long enough for samples. What else ran on the device counts too.
--
-- name TEXT: demangled name
-- short_name TEXT: name of the function alone, without namespace, template arguments and parameters
-- start INTEGER [ns]: start of the kernel on the GPU, on CUPTI's clock
-- end INTEGER [ns]: end of the kernel on the GPU, on CUPTI's clock
-- device_id INTEGER: device that ran it
-- correlation_id INTEGER: of the call that launched it: kernels.correlation_id
-- samples INTEGER [count]: samples of which more than half lies inside the kernel
-- metric TEXT: name of the metric
-- unit TEXT: unit of the value; NULL = a plain number
-- value REAL: mean over these samples, weighted by what of them lies inside the kernel
CREATE VIEW kernel_pm AS
SELECT *
FROM (SELECT coalesce(s.demangled, s.value) AS name,
             coalesce(s.short, s.demangled, s.value) AS short_name,
             k.start AS start,
             k.stop AS "end",
             k.deviceId AS device_id,
             k.correlationId AS correlation_id,
             k.samples AS samples,
             m.name AS metric,
             m.unit AS unit,
             CASE m.place
                 WHEN 1 THEN k.v1 WHEN 2 THEN k.v2 WHEN 3 THEN k.v3 WHEN 4 THEN k.v4
                 WHEN 5 THEN k.v5 WHEN 6 THEN k.v6 WHEN 7 THEN k.v7 WHEN 8 THEN k.v8
                 WHEN 9 THEN k.v9 WHEN 10 THEN k.v10 WHEN 11 THEN k.v11 WHEN 12 THEN k.v12
                 WHEN 13 THEN k.v13 WHEN 14 THEN k.v14 WHEN 15 THEN k.v15 WHEN 16 THEN k.v16
             END AS value
      FROM PM_KERNEL AS k
      JOIN PM_METRIC AS m ON m.part = k.part
      LEFT JOIN StringTable AS s ON s._id_ = k.name)
WHERE value IS NOT NULL;
