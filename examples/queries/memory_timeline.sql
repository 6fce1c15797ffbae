-- How much memory of each kind was allocated over time? A row for each allocation and release.
-- (window functions: SQLite 3.25)
SELECT (time - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS at_ms,
       process_id,
       device_id,
       memory,
       CASE operation WHEN 'allocation' THEN bytes ELSE -bytes END AS change,
       sum(CASE operation WHEN 'allocation' THEN bytes ELSE -bytes END)
         OVER (PARTITION BY process_id, device_id, memory ORDER BY time) AS in_use
FROM allocations
ORDER BY time;
