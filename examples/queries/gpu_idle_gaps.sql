-- When was a GPU idle for longest, what ended the wait, and what was the host in meanwhile?
SELECT device_id, t_ms + duration / 1e6 AS ended_at_ms, duration / 1e3 AS idle_us, behind AS next,
       CASE WHEN no_call_ns >= coalesce(host_call_ns, 0) THEN 'no CUDA call'
            WHEN no_call_ns NOT NULL THEN host_call END AS host_in,
       host_call, host_call_ns / 1e3 AS host_call_us, no_call_ns / 1e3 AS no_call_us, range_path
FROM gpu_gaps
ORDER BY duration DESC
LIMIT 10;
