-- How much memory of each kind was allocated at most, and when?
-- (window functions: SQLite 3.25)
SELECT process_id,
       device_id,
       memory,
       max(in_use) / 1e6 AS peak_megabytes,
       (time - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS at_ms
FROM (SELECT process_id, device_id, memory, time,
             sum(CASE operation WHEN 'allocation' THEN bytes ELSE -bytes END)
               OVER (PARTITION BY process_id, device_id, memory ORDER BY time) AS in_use
      FROM allocations)
GROUP BY process_id, device_id, memory
ORDER BY peak_megabytes DESC;
