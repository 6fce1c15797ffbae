-- Which kernels leave most of a multiprocessor's room for warps unused, why, and at what cost of time?
-- (the table OCCUPANCY_TIME has it when the run is over; until then it is worked out)
SELECT coalesce(s.display, s.short, s.value) AS display_name,
       t.occupancy AS theoretical_occupancy,
       t.limiter AS occupancy_limiter,
       min(t.waves) AS least_waves,
       sum(t.launches) AS launches,
       sum(t.total) / 1e6 AS total_ms
FROM OCCUPANCY_TIME AS t
LEFT JOIN StringTable AS s ON s._id_ = nullif(t.name, 0)
WHERE t.occupancy < 0.5
GROUP BY coalesce(s.demangled, s.value), t.occupancy, t.limiter
UNION ALL
SELECT * FROM (
SELECT display_name, theoretical_occupancy, occupancy_limiter, min(waves), count(*), sum(duration) / 1e6
FROM (SELECT name, display_name, theoretical_occupancy, occupancy_limiter, waves, duration
      FROM kernels
      WHERE theoretical_occupancy < 0.5
      LIMIT CASE WHEN EXISTS (SELECT 1 FROM OCCUPANCY_TIME)
                   OR NOT EXISTS (SELECT 1 FROM LAUNCH_SHAPE) THEN 0 ELSE -1 END)
GROUP BY name, theoretical_occupancy, occupancy_limiter)
ORDER BY total_ms DESC;
