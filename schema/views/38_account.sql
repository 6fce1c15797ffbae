-- Where the time of each GPU went, from the first call or GPU work of the run to the end of the last:
-- one row for each part, and the parts of a device add up to the whole. Where several kinds of work ran,
-- the first of compute, communication, copy and set counts; an idle GPU is accounted by what the host
-- did meanwhile.
--
-- device_id INTEGER: the device
-- class TEXT: compute; communication = only NCCL's kernels ran; copy; set; call = idle, the host was in
--   that call; no call = idle, the host was in none; unknown = idle, none of its calls was recorded;
--   short gap = idle for less than in each of the 10,000 longest gaps; before = its first work; after =
--   its last
-- cause TEXT: direction of a copy; CUDA function of a call; NULL = none
-- duration_ms REAL [ms]: how long
-- share REAL [share]: of the run, from 0 to 1
-- intervals INTEGER [count]: how often; of a call, in how many gaps
CREATE VIEW account AS
SELECT a.deviceId AS device_id,
       a.class AS class,
       CASE a.class
         WHEN 'copy' THEN coalesce((SELECT e.name FROM ENUM_NAME AS e
                                    WHERE e.enum = 'CUpti_ActivityMemcpyKind' AND e.value = a.cause),
                                   CAST(a.cause AS TEXT))
         WHEN 'call' THEN (SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                                    instr(ltrim(n.name, '_') || '_', '_') - 1)
                           FROM API_NAME AS n WHERE n.domain = a.domain AND n.cbid = a.cause)
       END AS cause,
       a.duration / 1e6 AS duration_ms,
       a.duration * 1.0 / (SELECT sum(w.duration) FROM DEVICE_ACCOUNT AS w
                           WHERE w.deviceId = a.deviceId) AS share,
       a.intervals AS intervals
FROM DEVICE_ACCOUNT AS a
UNION ALL
{types};
