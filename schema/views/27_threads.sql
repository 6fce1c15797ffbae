-- Threads that called CUDA or NVTX, or have a name, one row each.
--
-- name TEXT: name that the program gave it through NVTX; NULL = none
-- runtime_calls INTEGER [count]: calls of the runtime API
-- driver_calls INTEGER [count]: calls of the driver API, those that runtime calls made included
-- nvtx_ranges INTEGER [count]: ranges it opened
-- first INTEGER [ns]: when it was first seen, on CUPTI's clock; NULL = not known
-- last INTEGER [ns]: end of the last call or range, on CUPTI's clock; NULL = not known
-- thread_id INTEGER: the thread
-- process_id INTEGER: its process
CREATE VIEW threads AS
SELECT (SELECT s.value FROM CUPTI_ACTIVITY_KIND_NAME AS n JOIN StringTable AS s ON s._id_ = n.name
        WHERE n.objectKind = 2 AND n.threadId = t.threadId AND n.processId = t.processId
        ORDER BY n._id_ DESC LIMIT 1) AS name,
       sum(t.runtime) AS runtime_calls,
       sum(t.driver) AS driver_calls,
       sum(t.ranges) AS nvtx_ranges,
       min(t.first) AS first,
       max(t.last) AS last,
       t.threadId AS thread_id,
       t.processId AS process_id
FROM (SELECT processId, threadId, count(*) AS runtime, 0 AS driver, 0 AS ranges,
             min(nullif(start, 0)) AS first, max(nullif("end", 0)) AS last
      FROM CUPTI_ACTIVITY_KIND_RUNTIME
      GROUP BY processId, threadId
      UNION ALL
      SELECT processId, threadId, 0, count(*), 0, min(nullif(start, 0)), max(nullif("end", 0))
      FROM CUPTI_ACTIVITY_KIND_DRIVER
      -- DuckDB 1.5 takes two parts that are alike but for their tables for one.
      GROUP BY threadId, processId
      UNION ALL
      SELECT processId, threadId, 0, 0, count(*), min(start), max(coalesce(stop, start))
      FROM NVTX_RANGE
      GROUP BY processId, threadId
      UNION ALL
      SELECT DISTINCT processId, threadId, 0, 0, 0, NULL, NULL
      FROM CUPTI_ACTIVITY_KIND_NAME
      WHERE objectKind = 2) AS t
GROUP BY t.processId, t.threadId
UNION ALL
{types};
