-- When was a GPU idle for longest, what ended the wait, and what was the host in?
SELECT device_id, t_ms + duration / 1e6 AS ended_at_ms, duration / 1e3 AS idle_us, behind AS next,
       host_call, range_path
FROM gpu_gaps
ORDER BY duration DESC
LIMIT 10;
