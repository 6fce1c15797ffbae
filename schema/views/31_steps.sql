-- Steps of the program: NVTX ranges whose message matches --step REGEX (RUN has it), without it those
-- called step, iteration, iter, batch or ProfilerStep, with or without a number; where there are
-- none, the windows of cudaProfilerStart; else what the launches repeat.
--
-- name TEXT: message; cudaProfilerStart = such a window; or how long and alike the periods are
-- host_ms REAL [ms]: how long the step took on the host; NULL = never closed
-- gpu_busy_ms REAL [ms]: time in which work that was asked for in it ran, of the busiest device; 0
--   = none
-- work INTEGER [count]: kernels, copies, sets and the like, of all devices
-- kernels INTEGER [count]: of these, kernels
-- start INTEGER [ns]: when it began, on CUPTI's clock
-- end INTEGER [ns]: when it ended, on CUPTI's clock; NULL = never
-- t_ms REAL [ms]: start, from the first of the run on
-- range_id INTEGER: nvtx_ranges.id; NULL = a window
-- thread_id INTEGER: thread that began it; 0 = not known
-- process_id INTEGER: process it was in
CREATE VIEW steps AS
SELECT coalesce(n.value, 'cudaProfilerStart') AS name,
       (s.stop - s.start) / 1e6 AS host_ms,
       coalesce(s.busy, (SELECT max(t.busy) FROM RANGE_TIME AS t WHERE t.range = s.range), 0) / 1e6
         AS gpu_busy_ms,
       coalesce(s.work, (SELECT sum(t.work) FROM RANGE_TIME AS t WHERE t.range = s.range), 0)
         AS work,
       coalesce(s.kernels, (SELECT sum(t.kernels) FROM RANGE_TIME AS t WHERE t.range = s.range), 0)
         AS kernels,
       s.start AS start,
       s.stop AS "end",
       (s.start - {zero}) / 1e6 AS t_ms,
       s.range AS range_id,
       s.threadId AS thread_id,
       s.processId AS process_id
FROM STEP AS s
LEFT JOIN StringTable AS n ON n._id_ = nullif(s.name, 0)
UNION ALL
{types};
