-- When was a GPU idle for longest, what ended the wait, and what was the host in meanwhile?
SELECT device_id, t_ms + duration / 1e6 AS ended_at_ms, duration / 1e3 AS idle_us, behind AS next,
       CASE max(no_call_ns, launch_ns, queued_ns, coalesce(host_call_ns, 0))
         WHEN no_call_ns THEN 'no CUDA call'
         WHEN launch_ns THEN 'launching work'
         WHEN queued_ns THEN 'work was launched'
         WHEN host_call_ns THEN host_call END AS host_in,
       host_call, host_call_ns / 1e3 AS host_call_us, no_call_ns / 1e3 AS no_call_us,
       launch_ns / 1e3 AS launch_us, queued_ns / 1e3 AS queued_us, range_path
FROM gpu_gaps
ORDER BY duration DESC
LIMIT 10;
