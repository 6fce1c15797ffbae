-- How are the times of each kernel spread: median, 90th and 99th percentile?
SELECT device_id, display_name, timed AS launches, total / 1e6 AS total_ms, average / 1e3 AS average_us, median / 1e3 AS median_us, p90 / 1e3 AS p90_us, p99 / 1e3 AS p99_us, longest / 1e3 AS longest_us FROM kernel_summary WHERE timed > 0 ORDER BY total DESC;
