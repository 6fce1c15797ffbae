-- Kernels by name and device, with their times summed up.
--
-- name TEXT: demangled name
-- short_name TEXT: name of the function alone
-- display_name TEXT: as short as is unique within the file, see kernels
-- count INTEGER [count]: executions
-- timed INTEGER [count]: executions that have times; the columns below are of these
-- total INTEGER [ns]: sum of durations
-- average REAL [ns]: mean duration
-- median INTEGER [ns]: duration in the middle; of an even number the mean of the two, rounded down;
--   NULL = the run is not over
-- p90 INTEGER [ns]: least duration that 90 % do not exceed (nearest rank); NULL as median
-- p99 INTEGER [ns]: the same of 99 %
-- shortest INTEGER [ns]: least duration
-- longest INTEGER [ns]: greatest duration
-- percent REAL [%]: share of the durations of all kernels of the device
-- first INTEGER [ns]: start of the first, on CUPTI's clock
-- last INTEGER [ns]: end of the last, on CUPTI's clock
-- device_id INTEGER: device that ran them
CREATE VIEW kernel_summary AS
WITH k AS (
  SELECT deviceId, name, count, timed, total, median, p90, p99, shortest, longest, first, last
  FROM KERNEL_TIME
  WHERE count IS NOT NULL
  UNION ALL
  SELECT w.deviceId, w.name, w.count, w.timed, w.total, t.median, t.p90, t.p99, w.shortest,
         w.longest, w.first, w.last
  FROM (SELECT deviceId, name, count(*) AS count, count(duration) AS timed, sum(duration) AS total,
               min(duration) AS shortest, max(duration) AS longest, min(start) AS first,
               max("end") AS last
        FROM (SELECT deviceId, name, nullif(start, 0) AS start, nullif("end", 0) AS "end",
                     nullif("end", 0) - nullif(start, 0) AS duration
              FROM {unless KERNEL_TIME} CROSS JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
              UNION ALL
              SELECT deviceId, name, nullif(start, 0), nullif("end", 0),
                     nullif("end", 0) - nullif(start, 0)
              FROM {unless KERNEL_TIME} CROSS JOIN CUPTI_ACTIVITY_KIND_KERNEL) AS r
        GROUP BY deviceId, name) AS w
  LEFT JOIN KERNEL_TIME AS t ON t.deviceId = w.deviceId AND t.name = w.name)
SELECT coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       coalesce(s.display, s.short, s.value) AS display_name,
       k.count AS count,
       k.timed AS timed,
       k.total AS total,
       1.0 * k.total / k.timed AS average,
       k.median AS median,
       k.p90 AS p90,
       k.p99 AS p99,
       k.shortest AS shortest,
       k.longest AS longest,
       100.0 * k.total / d.total AS percent,
       k.first AS first,
       k.last AS last,
       k.deviceId AS device_id
FROM k
JOIN (SELECT deviceId, sum(total) AS total FROM k GROUP BY deviceId) AS d
  ON d.deviceId = k.deviceId
LEFT JOIN StringTable AS s ON s._id_ = nullif(k.name, 0)
UNION ALL
{types};
