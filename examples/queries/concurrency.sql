-- How long were how many streams of a GPU at work at a time?
SELECT device_id, streams, duration_ms AS ms FROM concurrency ORDER BY device_id, streams;
