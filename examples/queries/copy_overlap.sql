-- How much of the time of copies, by direction, did kernels of the same GPU run beside them?
-- (window functions: SQLite 3.25; one pass over begins and ends; copies that overlap one another
-- count once in each direction)
WITH edges AS (
  SELECT device_id, start AS at, 1 AS step, name AS what FROM gpu_activities
  WHERE duration > 0 AND type = 'memcpy'
  UNION ALL
  SELECT device_id, "end", -1, name FROM gpu_activities WHERE duration > 0 AND type = 'memcpy'
  UNION ALL
  SELECT device_id, start, 1, NULL FROM gpu_activities
  WHERE duration > 0 AND type IN ('kernel', 'graph')
  UNION ALL
  SELECT device_id, "end", -1, NULL FROM gpu_activities
  WHERE duration > 0 AND type IN ('kernel', 'graph')
), directions AS (
  SELECT DISTINCT device_id, what FROM edges WHERE what IS NOT NULL
), each AS (
  SELECT d.device_id, d.what, e.at, CASE WHEN e.what IS NULL THEN e.step ELSE 0 END AS kernels,
         CASE WHEN e.what IS NULL THEN 0 ELSE e.step END AS copies
  FROM directions AS d
  JOIN edges AS e ON e.device_id = d.device_id AND (e.what = d.what OR e.what IS NULL)
), steps AS (
  SELECT device_id, what,
         lead(at) OVER (PARTITION BY device_id, what ORDER BY at) - at AS ns,
         sum(kernels) OVER (PARTITION BY device_id, what ORDER BY at) AS kernels,
         sum(copies) OVER (PARTITION BY device_id, what ORDER BY at) AS copies
  FROM each
)
SELECT device_id,
       what AS copies,
       sum(ns) / 1e6 AS copying_ms,
       sum(ns * (kernels > 0)) / 1e6 AS beside_kernels_ms,
       100.0 * sum(ns * (kernels > 0)) / sum(ns) AS percent
FROM steps
WHERE copies > 0 AND ns > 0
GROUP BY device_id, what
ORDER BY copying_ms DESC;
