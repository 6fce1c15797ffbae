-- Kernels by name and device, with their times summed up. Percentiles: examples/queries.
--
-- name: demangled name
-- short_name: name of the function alone
-- count: executions
-- timed: executions that have times; the columns below are of these
-- total: sum of durations, ns
-- average: mean duration, ns
-- shortest: least duration, ns
-- longest: greatest duration, ns
-- percent: share of the durations of all kernels of the device
-- first: start of the first, ns on CUPTI's clock
-- last: end of the last, ns on CUPTI's clock
-- device_id: device that ran them
CREATE VIEW kernel_summary AS
SELECT coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       k.count AS count,
       k.timed AS timed,
       k.total AS total,
       1.0 * k.total / k.timed AS average,
       k.shortest AS shortest,
       k.longest AS longest,
       100.0 * k.total / d.total AS percent,
       k.first AS first,
       k.last AS last,
       k.deviceId AS device_id
FROM (SELECT deviceId, name, count(*) AS count, count(duration) AS timed, sum(duration) AS total,
             min(duration) AS shortest, max(duration) AS longest, min(start) AS first,
             max("end") AS last
      FROM (SELECT deviceId, name, nullif(start, 0) AS start, nullif("end", 0) AS "end",
                   nullif("end", 0) - nullif(start, 0) AS duration
            FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
            UNION ALL
            SELECT deviceId, name, nullif(start, 0), nullif("end", 0),
                   nullif("end", 0) - nullif(start, 0)
            FROM CUPTI_ACTIVITY_KIND_KERNEL)
      GROUP BY deviceId, name) AS k
JOIN (SELECT deviceId, sum(duration) AS total
      FROM (SELECT deviceId, nullif("end", 0) - nullif(start, 0) AS duration
            FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
            UNION ALL
            SELECT deviceId, nullif("end", 0) - nullif(start, 0)
            FROM CUPTI_ACTIVITY_KIND_KERNEL)
      GROUP BY deviceId) AS d ON d.deviceId = k.deviceId
LEFT JOIN StringTable AS s ON s._id_ = nullif(k.name, 0);
