-- How many streams of a device were at work at a time, between its first work and its last.
--
-- device_id INTEGER: the device
-- streams INTEGER [count]: number of streams that had work running; 0 = the device was idle
-- duration_ms REAL [ms]: how long
-- share REAL [share]: of the time between first and last, from 0 to 1
CREATE VIEW concurrency AS
SELECT s.deviceId AS device_id,
       s.streams AS streams,
       s.duration / 1e6 AS duration_ms,
       s.duration * 1.0 / (d.last - d.first) AS share
FROM STREAM_TIME AS s
JOIN DEVICE_TIME AS d ON d.deviceId = s.deviceId
UNION ALL
{types};
