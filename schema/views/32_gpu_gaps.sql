-- Times in which a device had no work, between its first and its last: the 10,000 longest of each
-- device. gpu_utilization counts all.
--
-- device_id INTEGER: device without work
-- start INTEGER [ns]: when the work before was over, on CUPTI's clock
-- end INTEGER [ns]: when the work behind began, on CUPTI's clock
-- duration INTEGER [ns]: from start to end
-- before TEXT: the work before: name of the kernel, else memcpy, memset, ...
-- behind TEXT: the work behind, in the same way
-- host_call TEXT: CUDA function that took most of the gap in the process whose work is behind; NULL
--   = none that was collected. Compare host_call_ns and no_call_ns: the host may have been in no call
--   for longer
-- host_call_ns INTEGER [ns]: how much of the gap the calls of that function took
-- no_call_ns INTEGER [ns]: how much of the gap the process was in no CUDA call that was recorded;
--   NULL = none of its calls was
-- range_name TEXT: NVTX range in which the work behind was asked for; NULL = none
-- range_path TEXT: messages of the ranges around it and its own, with / between
-- correlation_id INTEGER: joins the call that asked for the work behind; 0 = none
-- t_ms REAL [ms]: start, from the first of the run on
CREATE VIEW gpu_gaps AS
SELECT g.deviceId AS device_id,
       g.start AS start,
       g.stop AS "end",
       g.stop - g.start AS duration,
       coalesce(b.short, b.demangled, b.value, g.typeBefore) AS before,
       coalesce(h.short, h.demangled, h.value, g.typeBehind) AS behind,
       coalesce((SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                          instr(ltrim(n.name, '_') || '_', '_') - 1)
                 FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
                 JOIN API_NAME AS n ON n.domain = 'runtime' AND n.cbid = r.cbid
                 WHERE r.correlationId = g.hostCall ORDER BY r._id_ LIMIT 1),
                (SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                          instr(ltrim(n.name, '_') || '_', '_') - 1)
                 FROM CUPTI_ACTIVITY_KIND_DRIVER AS r
                 JOIN API_NAME AS n ON n.domain = 'driver' AND n.cbid = r.cbid
                 WHERE r.correlationId = g.hostCall ORDER BY r._id_ LIMIT 1)) AS host_call,
       g.hostTime AS host_call_ns,
       g.noCallTime AS no_call_ns,
       rn.value AS range_name,
       rp.value AS range_path,
       g.correlationId AS correlation_id,
       (g.start - {zero}) / 1e6 AS t_ms
FROM GPU_GAP AS g
LEFT JOIN StringTable AS b ON b._id_ = nullif(g.nameBefore, 0)
LEFT JOIN StringTable AS h ON h._id_ = nullif(g.nameBehind, 0)
LEFT JOIN NVTX_RANGE AS w ON w._id_ = g.range
LEFT JOIN NVTX_PATH AS p ON p.range = g.range
LEFT JOIN StringTable AS rn ON rn._id_ = nullif(w.name, 0)
LEFT JOIN StringTable AS rp ON rp._id_ = p.path
UNION ALL
{types};
