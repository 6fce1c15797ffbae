-- How long do kernels wait between the call that launched them and their start, by kernel?
SELECT short_name,
       api_name,
       count(*) AS launches,
       min(launch_latency) / 1e3 AS shortest_us,
       avg(launch_latency) / 1e3 AS average_us,
       max(launch_latency) / 1e3 AS longest_us,
       avg(api_duration) / 1e3 AS call_us
FROM launches
WHERE launch_latency IS NOT NULL
GROUP BY name, api_name
ORDER BY average_us DESC;
