-- How much of the time of copies, by direction, did kernels of the same GPU run beside them?
SELECT device_id, kind, copying_ms, beside_kernels_ms, 100 * share AS percent FROM copy_overlap ORDER BY copying_ms DESC;
