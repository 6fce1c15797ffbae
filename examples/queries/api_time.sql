-- Which CUDA functions does the host spend its time in?
-- (a runtime call's driver calls are in it)
SELECT domain,
       name,
       count AS calls,
       total / 1e6 AS total_ms,
       average / 1e3 AS average_us,
       longest / 1e3 AS longest_us,
       failed
FROM api_summary
ORDER BY total_ms DESC
LIMIT 15;
