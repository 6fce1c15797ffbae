-- How busy was each GPU, with kernels, with copies, with both at a time, and how long was it idle?
SELECT device_id, span_ms, busy_ms, 100 * busy_share AS busy_percent, kernels_only_ms, copies_only_ms,
       both_ms, idle_ms
FROM gpu_utilization;
