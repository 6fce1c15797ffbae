-- Where the time of each GPU went: parts that add up to the run, from its first call or GPU work to
-- the end of its last. Where work overlaps, the first class counts.
--
-- device_id INTEGER: the device
-- class TEXT: compute; communication = NCCL's kernels alone; copy; set; idle: queued = work
--   was launched, launch = the host launched, call = it was in another, no call, unknown = no calls
--   are recorded, short gap = not looked at; before, after = its work
-- cause TEXT: direction of a copy; CUDA function; line of Python
-- duration_ms REAL [ms]: how long
-- share REAL [share]: of the run, from 0 to 1
-- intervals INTEGER [count]: how often; of idle time, in how many gaps
CREATE VIEW account AS
SELECT a.deviceId AS device_id,
       a.class AS class,
       CASE a.class
         WHEN 'copy' THEN coalesce((SELECT e.name FROM ENUM_NAME AS e
                                    WHERE e.enum = 'CUpti_ActivityMemcpyKind' AND e.value = a.cause),
                                   CAST(a.cause AS TEXT))
         WHEN 'queued' THEN CASE a.cause WHEN 1 THEN 'cudaStreamWaitEvent' END
         WHEN 'no call' THEN nullif(a.domain, '')
         ELSE (SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                        instr(ltrim(n.name, '_') || '_', '_') - 1)
               FROM API_NAME AS n WHERE n.domain = a.domain AND n.cbid = a.cause)
       END AS cause,
       sum(a.duration) / 1e6 AS duration_ms,
       sum(a.duration) * 1.0 / (SELECT sum(w.duration) FROM DEVICE_ACCOUNT AS w
                           WHERE w.deviceId = a.deviceId) AS share,
       sum(a.intervals) AS intervals
FROM DEVICE_ACCOUNT AS a
GROUP BY 1, 2, 3
UNION ALL
{types};
