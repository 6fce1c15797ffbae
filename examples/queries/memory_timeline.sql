-- How much memory of each kind was allocated over time? A row for each allocation and release.
SELECT t_ms AS at_ms, process_id, device_id, memory, pool_type, change, in_use FROM memory_timeline ORDER BY time, operation_id;
