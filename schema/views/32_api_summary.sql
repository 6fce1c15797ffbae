-- Calls of the CUDA API by function, with their times summed up. A runtime call makes driver calls,
-- whose times are in its own: do not add the two domains.
--
-- domain TEXT: runtime, driver or internal
-- name TEXT: function, without suffixes
-- count INTEGER [count]: calls
-- failed INTEGER [count]: calls that returned something else than success
-- timed INTEGER [count]: calls that have times; the columns below are of these
-- total INTEGER [ns]: sum of durations
-- average REAL [ns]: mean duration
-- median INTEGER [ns]: duration in the middle; of an even number the mean of the two, rounded down;
--   NULL = the run is not over
-- p90 INTEGER [ns]: least duration that 90 % do not exceed (nearest rank); NULL as median
-- p99 INTEGER [ns]: the same of 99 %
-- shortest INTEGER [ns]: least duration
-- longest INTEGER [ns]: greatest duration
CREATE VIEW api_summary AS
SELECT domain,
       name,
       count,
       failed,
       timed,
       total,
       1.0 * total / timed AS average,
       median,
       p90,
       p99,
       shortest,
       longest
FROM API_TIME
WHERE count IS NOT NULL
UNION ALL
SELECT f.domain,
       f.name,
       f.count,
       f.failed,
       f.timed,
       f.total,
       1.0 * f.total / f.timed,
       t.median,
       t.p90,
       t.p99,
       f.shortest,
       f.longest
FROM (SELECT a.domain AS domain,
             CASE WHEN a.domain = 'internal' THEN 'internal launch'
                  ELSE coalesce((SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                                          instr(ltrim(n.name, '_') || '_', '_') - 1)
                                 FROM API_NAME AS n WHERE n.domain = a.domain AND n.cbid = a.cbid),
                                a.domain || ' function ' || a.cbid)
             END AS name,
             sum(a.count) AS count,
             sum(a.failed) AS failed,
             sum(a.timed) AS timed,
             sum(a.total) AS total,
             min(a.shortest) AS shortest,
             max(a.longest) AS longest
      FROM (SELECT 'runtime' AS domain, cbid, count(*) AS count, sum(returnValue <> 0) AS failed,
                   count(duration) AS timed, sum(duration) AS total, min(duration) AS shortest,
                   max(duration) AS longest
            FROM (SELECT cbid, returnValue, nullif("end", 0) - nullif(start, 0) AS duration
                  FROM {unless API_TIME} CROSS JOIN CUPTI_ACTIVITY_KIND_RUNTIME)
            GROUP BY cbid
            UNION ALL
            SELECT 'driver', cbid, count(*), sum(returnValue <> 0), count(duration), sum(duration),
                   min(duration), max(duration)
            -- DuckDB 1.5 takes parts that are alike but for their tables for one. Each has another
            -- condition, which is always true.
            FROM (SELECT cbid, returnValue, nullif("end", 0) - nullif(start, 0) AS duration
                  FROM {unless API_TIME} CROSS JOIN CUPTI_ACTIVITY_KIND_DRIVER
                  WHERE cbid IS NOT NULL)
            GROUP BY cbid
            UNION ALL
            SELECT 'internal', 0, count(*), sum(returnValue <> 0), count(duration), sum(duration),
                   min(duration), max(duration)
            FROM (SELECT returnValue, nullif("end", 0) - nullif(start, 0) AS duration
                  FROM {unless API_TIME} CROSS JOIN CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API
                  WHERE processId IS NOT NULL)
            GROUP BY 1) AS a
      GROUP BY 1, 2) AS f
LEFT JOIN API_TIME AS t ON t.domain = f.domain AND t.name = f.name
UNION ALL
{types};
