-- How long does each step take on the host, and the work launched in it on the GPU?
SELECT name AS step, process_id, thread_id, t_ms AS start_ms, host_ms, kernels, gpu_busy_ms
FROM steps
ORDER BY start;
