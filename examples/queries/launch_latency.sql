-- How long do kernels wait between the call that launched them and their start, by kernel?
-- (the table LAUNCH_TIME has it when the run is over; until then it is worked out, which takes long
-- for many launches, and window functions: SQLite 3.25 of 2018. Percentiles are values that occurred,
-- by nearest rank)
SELECT coalesce(s.display, s.short, s.value) AS display_name,
       nullif(t.apiName, '') AS api_name,
       t.launches AS launches,
       t.shortest / 1e3 AS shortest_us,
       t.median / 1e3 AS median_us,
       t.p90 / 1e3 AS p90_us,
       t.p99 / 1e3 AS p99_us,
       t.longest / 1e3 AS longest_us,
       1.0 * t.callTime / nullif(t.calls, 0) / 1e3 AS call_us
FROM LAUNCH_TIME AS t
LEFT JOIN StringTable AS s ON s._id_ = nullif(t.name, 0)
UNION ALL
SELECT * FROM (
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
      FROM (SELECT name, display_name, api_name, launch_latency, api_duration
            FROM launches
            WHERE launch_latency IS NOT NULL
            LIMIT CASE WHEN EXISTS (SELECT 1 FROM LAUNCH_TIME)
                         OR NOT EXISTS (SELECT 1 FROM api_calls) THEN 0 ELSE -1 END))
GROUP BY name, api_name)
ORDER BY median_us DESC;
