-- How much memory of each kind was allocated at most, and when?
SELECT process_id, device_id, memory, pool_type, bytes / 1e6 AS peak_megabytes, t_ms AS at_ms FROM memory_peak ORDER BY bytes DESC;
