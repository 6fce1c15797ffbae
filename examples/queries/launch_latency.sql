-- How long do kernels wait between the call that launched them and their start, by kernel?
-- (window functions: SQLite 3.25 of 2018. No table has these percentiles, for each launch is two
-- rows that lie far apart; those of kernels and calls alone are in kernel_summary and api_summary,
-- for any SQLite. Percentiles are values that occurred, by nearest rank)
SELECT display_name,
       api_name,
       launches,
       min(launch_latency) / 1e3 AS shortest_us,
       max(CASE WHEN rank = (launches * 50 + 99) / 100 THEN launch_latency END) / 1e3 AS median_us,
       max(CASE WHEN rank = (launches * 90 + 99) / 100 THEN launch_latency END) / 1e3 AS p90_us,
       max(CASE WHEN rank = (launches * 99 + 99) / 100 THEN launch_latency END) / 1e3 AS p99_us,
       max(launch_latency) / 1e3 AS longest_us,
       avg(api_duration) / 1e3 AS call_us
FROM (SELECT name, display_name, api_name, launch_latency, api_duration,
             count(*) OVER (PARTITION BY name, api_name) AS launches,
             row_number() OVER (PARTITION BY name, api_name ORDER BY launch_latency) AS rank
      FROM launches
      WHERE launch_latency IS NOT NULL)
GROUP BY name, api_name
ORDER BY median_us DESC;
