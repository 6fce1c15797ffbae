-- NVTX ranges with what the GPU did for them and the ranges inside them, one row per range and
-- device. Work belongs to the range in which it was asked for, whenever it ran.
--
-- name TEXT: message; NULL = none
-- path TEXT: messages of the ranges around it and its own, with / between
-- host_ms REAL [ms]: how long the range was open; NULL = never closed
-- gpu_busy_ms REAL [ms]: time in which any of its work ran
-- work INTEGER [count]: kernels, copies, sets and the like
-- kernels INTEGER [count]: of these, kernels
-- first INTEGER [ns]: when the first began, on CUPTI's clock
-- last INTEGER [ns]: when the last was over, on CUPTI's clock
-- start INTEGER [ns]: when the range was opened, on CUPTI's clock
-- end INTEGER [ns]: when it was closed, on CUPTI's clock; NULL = never
-- t_ms REAL [ms]: start, from the first of the run on
-- device_id INTEGER: device that worked
-- range_id INTEGER: nvtx_ranges.id
-- thread_id INTEGER: thread that opened it
-- process_id INTEGER: process that opened it
CREATE VIEW nvtx_gpu AS
SELECT n.value AS name,
       p.value AS path,
       (r.stop - r.start) / 1e6 AS host_ms,
       t.busy / 1e6 AS gpu_busy_ms,
       t.work AS work,
       t.kernels AS kernels,
       t.first AS first,
       t.last AS last,
       r.start AS start,
       r.stop AS "end",
       (r.start - {zero}) / 1e6 AS t_ms,
       t.deviceId AS device_id,
       t.range AS range_id,
       r.threadId AS thread_id,
       r.processId AS process_id
FROM RANGE_TIME AS t
JOIN NVTX_RANGE AS r ON r._id_ = t.range
LEFT JOIN NVTX_PATH AS w ON w.range = t.range
LEFT JOIN StringTable AS n ON n._id_ = nullif(r.name, 0)
LEFT JOIN StringTable AS p ON p._id_ = w.path;
