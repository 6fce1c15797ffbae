-- How long does each step take on the host, and the work launched in it on the GPU? (NVTX "step…")
-- (window functions: SQLite 3.25; one pass over each thread's launches and ranges, in time order)
WITH events AS (
  SELECT process_id, thread_id, api_start AS at, 1 AS kernels, coalesce(duration, 0) AS gpu,
         NULL AS range, 0 AS sign
  FROM launches
  UNION ALL
  SELECT process_id, thread_id, start, 0, 0, id, -1 FROM nvtx_ranges
  WHERE "end" IS NOT NULL AND name LIKE 'step%'
  UNION ALL
  SELECT process_id, thread_id, "end", 0, 0, id, 1 FROM nvtx_ranges
  WHERE "end" IS NOT NULL AND name LIKE 'step%'
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
SELECT r.name AS step,
       r.process_id,
       r.thread_id,
       (r.start - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS start_ms,
       r.duration / 1e6 AS host_ms,
       i.kernels,
       i.gpu / 1e6 AS gpu_ms
FROM nvtx_ranges AS r
JOIN inside AS i ON i.range = r.id
ORDER BY r.start;
