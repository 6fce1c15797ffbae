-- How much of the time of copies, by direction, did kernels of the same GPU run at the same time?
SELECT device_id, kind, copying_ms, beside_kernels_ms, 100 * share AS percent FROM copy_overlap ORDER BY copying_ms DESC;
