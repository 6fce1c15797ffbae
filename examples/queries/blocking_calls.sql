-- Which calls made the host wait for the GPU, how often and how long?
SELECT name,
       waits_for,
       count(*) AS calls,
       sum(duration) / 1e6 AS total_ms,
       avg(duration) / 1e3 AS average_us,
       max(duration) / 1e3 AS longest_us,
       sum(bytes) / 1e6 AS megabytes
FROM blocking_calls
GROUP BY name, waits_for
ORDER BY total_ms DESC;
