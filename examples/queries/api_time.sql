-- Which CUDA functions does the host spend its time in?
-- (a runtime call's driver calls are in it)
SELECT domain,
       name,
       count(*) AS calls,
       sum(duration) / 1e6 AS total_ms,
       avg(duration) / 1e3 AS average_us,
       max(duration) / 1e3 AS longest_us,
       sum(return_value <> 0) AS failed
FROM api_calls
GROUP BY domain, name
ORDER BY total_ms DESC
LIMIT 15;
