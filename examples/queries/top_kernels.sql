-- Which kernels take most of the GPU's time?
SELECT display_name,
       count(*) AS launches,
       sum(duration) / 1e6 AS total_ms,
       avg(duration) / 1e3 AS average_us,
       max(duration) / 1e3 AS longest_us,
       100.0 * sum(duration) / (SELECT sum(duration) FROM kernels) AS percent
FROM kernels
GROUP BY name
ORDER BY total_ms DESC
LIMIT 10;
