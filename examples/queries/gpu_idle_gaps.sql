-- When was a GPU idle for longest, and what ended the wait?
-- (window functions: SQLite 3.25)
SELECT device_id,
       (start - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS ended_at_ms,
       (start - busy_until) / 1e3 AS idle_us,
       name AS next
FROM (SELECT device_id, start, name,
             max("end") OVER (PARTITION BY device_id ORDER BY start
                              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until
      FROM gpu_activities
      WHERE start > 0)
WHERE start > busy_until
ORDER BY idle_us DESC
LIMIT 10;
