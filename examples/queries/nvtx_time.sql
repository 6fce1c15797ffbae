-- How long do NVTX ranges take on the host, and the kernels launched inside them on the GPU?
-- (window functions: SQLite 3.25; one pass over each thread's launches and ranges, in time order)
WITH events AS (
  SELECT process_id, thread_id, api_start AS at, 1 AS kernels, coalesce(duration, 0) AS gpu,
         NULL AS range, 0 AS sign
  FROM launches
  UNION ALL
  SELECT process_id, thread_id, start, 0, 0, id, -1 FROM nvtx_ranges WHERE "end" IS NOT NULL
  UNION ALL
  SELECT process_id, thread_id, "end", 0, 0, id, 1 FROM nvtx_ranges WHERE "end" IS NOT NULL
), so_far AS (
  SELECT range, sign,
         sum(kernels) OVER (PARTITION BY process_id, thread_id ORDER BY at, sign) AS kernels,
         sum(gpu) OVER (PARTITION BY process_id, thread_id ORDER BY at, sign) AS gpu
  FROM events
), inside AS (
  SELECT range, sum(sign * kernels) AS kernels, sum(sign * gpu) AS gpu
  FROM so_far
  WHERE range IS NOT NULL
  GROUP BY range
)
SELECT r.domain,
       r.name,
       count(*) AS ranges,
       sum(r.duration) / 1e6 AS host_ms,
       sum(i.kernels) AS kernels,
       sum(i.gpu) / 1e6 AS gpu_ms
FROM nvtx_ranges AS r
JOIN inside AS i ON i.range = r.id
GROUP BY r.domain, r.name
ORDER BY host_ms DESC;
