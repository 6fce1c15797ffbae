-- How long were how many streams of a GPU at work at a time?
-- (window functions: SQLite 3.25; one pass over begins and ends)
WITH edges AS (
  SELECT device_id, process_id, context_id, stream_id, start AS at, 1 AS step FROM gpu_activities
  WHERE duration > 0
  UNION ALL
  SELECT device_id, process_id, context_id, stream_id, "end", -1 FROM gpu_activities
  WHERE duration > 0
), changes AS (
  SELECT device_id, process_id, context_id, stream_id, at, sum(step) AS step
  FROM edges
  GROUP BY device_id, process_id, context_id, stream_id, at
), streams AS (
  SELECT *, sum(step) OVER (PARTITION BY device_id, process_id, context_id, stream_id
                            ORDER BY at) > 0 AS busy
  FROM changes
), turns AS (
  SELECT device_id, at,
         busy - lag(busy, 1, 0) OVER (PARTITION BY device_id, process_id, context_id, stream_id
                                      ORDER BY at) AS turn
  FROM streams
), steps AS (
  SELECT device_id,
         sum(turn) OVER (PARTITION BY device_id ORDER BY at) AS streams,
         lead(at) OVER (PARTITION BY device_id ORDER BY at) - at AS ns
  FROM turns
)
SELECT device_id, streams, sum(ns) / 1e6 AS ms
FROM steps
WHERE ns > 0
GROUP BY device_id, streams
ORDER BY device_id, streams;
