-- What do the metrics of a run with --metrics say of each kernel?
SELECT short_name,
       metric,
       unit,
       count(*) AS launches,
       avg(value) AS average,
       min(value) AS least,
       max(value) AS most
FROM kernel_metrics
GROUP BY short_name, metric
ORDER BY short_name, metric;
