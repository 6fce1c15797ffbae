-- How long do NVTX ranges take on the host, and what was asked for in them on the GPU?
SELECT path, count(DISTINCT range_id) AS ranges, sum(host_ms) AS host_ms, sum(kernels) AS kernels,
       sum(gpu_busy_ms) AS gpu_busy_ms
FROM nvtx_gpu
GROUP BY path
ORDER BY gpu_busy_ms DESC;
