-- Calls of the CUDA API by function, with their times summed up. A runtime call makes driver calls,
-- whose times are in its own: do not add the two domains.
--
-- domain: runtime, driver or internal
-- name: function, without suffixes
-- count: calls
-- failed: calls that returned something else than success
-- timed: calls that have times; the columns below are of these
-- total: sum of durations, ns
-- average: mean duration, ns
-- shortest: least duration, ns
-- longest: greatest duration, ns
CREATE VIEW api_summary AS
SELECT a.domain AS domain,
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
       1.0 * sum(a.total) / sum(a.timed) AS average,
       min(a.shortest) AS shortest,
       max(a.longest) AS longest
FROM (SELECT 'runtime' AS domain, cbid, count(*) AS count, sum(returnValue <> 0) AS failed,
             count(duration) AS timed, sum(duration) AS total, min(duration) AS shortest,
             max(duration) AS longest
      FROM (SELECT cbid, returnValue, nullif("end", 0) - nullif(start, 0) AS duration
            FROM CUPTI_ACTIVITY_KIND_RUNTIME)
      GROUP BY cbid
      UNION ALL
      SELECT 'driver', cbid, count(*), sum(returnValue <> 0), count(duration), sum(duration),
             min(duration), max(duration)
      FROM (SELECT cbid, returnValue, nullif("end", 0) - nullif(start, 0) AS duration
            FROM CUPTI_ACTIVITY_KIND_DRIVER)
      GROUP BY cbid
      UNION ALL
      SELECT 'internal', 0, count(*), sum(returnValue <> 0), count(duration), sum(duration),
             min(duration), max(duration)
      FROM (SELECT returnValue, nullif("end", 0) - nullif(start, 0) AS duration
            FROM CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API)
      GROUP BY 1) AS a
GROUP BY 1, 2;
