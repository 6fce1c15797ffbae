-- Times in which a device had no work, between its first and its last: the 10,000 longest of each
-- device.
--
-- device_id INTEGER: device without work
-- start INTEGER [ns]: when the work before was over, on CUPTI's clock
-- end INTEGER [ns]: when the work after it began, on CUPTI's clock
-- duration INTEGER [ns]: from start to end
-- before TEXT: the work before: name of the kernel, else memcpy, memset, ...
-- behind TEXT: the work behind, in the same way
-- host_call TEXT: CUDA function, not launching, that took most of the gap in the process whose work
--   is behind; NULL = none
-- host_call_ns INTEGER [ns]: how much of the gap the calls of that function took
-- no_call_ns INTEGER [ns]: how much of the gap it was in no call and launched nothing; NULL = none of
--   its calls was recorded
-- launch_ns INTEGER [ns]: how much of it is launch in the view account
-- queued_ns INTEGER [ns]: how much of it is queued there
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
       (SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                 instr(ltrim(n.name, '_') || '_', '_') - 1)
        FROM (SELECT 'runtime' AS domain, cbid FROM CUPTI_ACTIVITY_KIND_RUNTIME
              WHERE correlationId = g.hostCall
              UNION ALL
              SELECT 'driver', cbid FROM CUPTI_ACTIVITY_KIND_DRIVER WHERE correlationId = g.hostCall
              ORDER BY 1 DESC LIMIT 1) AS c
        JOIN API_NAME AS n ON n.domain = c.domain AND n.cbid = c.cbid) AS host_call,
       g.hostTime AS host_call_ns,
       g.noCallTime AS no_call_ns,
       g.launchTime AS launch_ns,
       g.queuedTime AS queued_ns,
       rn.value AS range_name,
       rp.value AS range_path,
       g.correlationId AS correlation_id,
       (g.start - {zero}) / 1e6 AS t_ms{stacks g}
FROM GPU_GAP AS g
LEFT JOIN StringTable AS b ON b._id_ = nullif(g.nameBefore, 0)
LEFT JOIN StringTable AS h ON h._id_ = nullif(g.nameBehind, 0)
LEFT JOIN NVTX_RANGE AS w ON w._id_ = g.range
LEFT JOIN NVTX_PATH AS p ON p.range = g.range
LEFT JOIN StringTable AS rn ON rn._id_ = nullif(w.name, 0)
LEFT JOIN StringTable AS rp ON rp._id_ = p.path
UNION ALL
{types};
