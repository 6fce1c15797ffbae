-- How busy was each GPU, with kernels, with copies, with both at a time, and how long was it idle?
-- (window functions: SQLite 3.25; one pass over begins and ends; sets count as copies)
WITH edges AS (
  SELECT device_id, start AS at, type IN ('kernel', 'graph') AS kernels,
         type NOT IN ('kernel', 'graph') AS copies
  FROM gpu_activities WHERE duration > 0
  UNION ALL
  SELECT device_id, "end", -(type IN ('kernel', 'graph')), -(type NOT IN ('kernel', 'graph'))
  FROM gpu_activities WHERE duration > 0
), steps AS (
  SELECT device_id,
         lead(at) OVER (PARTITION BY device_id ORDER BY at) - at AS ns,
         sum(kernels) OVER (PARTITION BY device_id ORDER BY at) AS kernels,
         sum(copies) OVER (PARTITION BY device_id ORDER BY at) AS copies
  FROM edges
)
SELECT device_id,
       sum(ns) / 1e6 AS span_ms,
       sum(ns * (kernels + copies > 0)) / 1e6 AS busy_ms,
       100.0 * sum(ns * (kernels + copies > 0)) / sum(ns) AS busy_percent,
       sum(ns * (kernels > 0 AND copies = 0)) / 1e6 AS kernels_only_ms,
       sum(ns * (kernels = 0 AND copies > 0)) / 1e6 AS copies_only_ms,
       sum(ns * (kernels > 0 AND copies > 0)) / 1e6 AS both_ms,
       sum(ns * (kernels + copies = 0)) / 1e6 AS idle_ms
FROM steps
GROUP BY device_id;
