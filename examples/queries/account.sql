-- Where did the time of each GPU go? The rows of a device add up to the run.
SELECT device_id, class, cause, duration_ms, share, intervals
FROM account
ORDER BY device_id, duration_ms DESC;
