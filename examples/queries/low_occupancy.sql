-- Which kernels leave most of a multiprocessor's room for warps unused, why, and at what cost of time?
SELECT display_name, theoretical_occupancy, occupancy_limiter, min(waves) AS least_waves, count(*) AS launches, sum(duration) / 1e6 AS total_ms FROM kernels WHERE theoretical_occupancy < 0.5 GROUP BY name, theoretical_occupancy, occupancy_limiter ORDER BY total_ms DESC;
