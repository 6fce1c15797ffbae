-- How much of the time between its first work and its last each device was busy.
--
-- device_id INTEGER: the device
-- span_ms REAL [ms]: from its first work to its last
-- busy_ms REAL [ms]: time in which it had work
-- kernels_only_ms REAL [ms]: time in which kernels ran and nothing else did
-- copies_only_ms REAL [ms]: time in which copies, sets and the like ran and no kernel
-- both_ms REAL [ms]: time in which both did
-- exposed_communication_ms REAL [ms]: of kernels_only_ms, time in which no kernels ran but NCCL's
-- idle_ms REAL [ms]: time in which it had no work
-- busy_share REAL [share]: busy_ms / span_ms, from 0 to 1
-- gaps INTEGER [count]: times in which it had no work
CREATE VIEW gpu_utilization AS
SELECT deviceId AS device_id,
       (last - first) / 1e6 AS span_ms,
       busy / 1e6 AS busy_ms,
       kernelsOnly / 1e6 AS kernels_only_ms,
       copiesOnly / 1e6 AS copies_only_ms,
       "both" / 1e6 AS both_ms,
       exposedCommunication / 1e6 AS exposed_communication_ms,
       (last - first - busy) / 1e6 AS idle_ms,
       busy * 1.0 / (last - first) AS busy_share,
       gaps AS gaps
FROM DEVICE_TIME
UNION ALL
{types};
