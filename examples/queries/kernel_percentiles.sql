-- How are the times of each kernel spread: median, 90th and 99th percentile?
-- (window functions: SQLite 3.25; percentiles are values that occurred, by nearest rank)
SELECT short_name,
       launches,
       sum(duration) / 1e6 AS total_ms,
       avg(duration) / 1e3 AS average_us,
       max(CASE WHEN rank = (launches * 50 + 99) / 100 THEN duration END) / 1e3 AS median_us,
       max(CASE WHEN rank = (launches * 90 + 99) / 100 THEN duration END) / 1e3 AS p90_us,
       max(CASE WHEN rank = (launches * 99 + 99) / 100 THEN duration END) / 1e3 AS p99_us,
       max(duration) / 1e3 AS longest_us
FROM (SELECT name, short_name, duration,
             count(*) OVER (PARTITION BY name) AS launches,
             row_number() OVER (PARTITION BY name ORDER BY duration) AS rank
      FROM kernels
      WHERE duration IS NOT NULL)
GROUP BY name
ORDER BY total_ms DESC;
