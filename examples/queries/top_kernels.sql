-- Which kernels take most of the GPU's time?
SELECT display_name,
       sum(count) AS launches,
       sum(total) / 1e6 AS total_ms,
       1.0 * sum(total) / sum(timed) / 1e3 AS average_us,
       max(longest) / 1e3 AS longest_us,
       100.0 * sum(total) / (SELECT sum(total) FROM kernel_summary) AS percent
FROM kernel_summary
GROUP BY name
ORDER BY total_ms DESC
LIMIT 10;
