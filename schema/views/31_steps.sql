-- NVTX ranges that are called as steps of a training are: step, iteration, iter, batch or ProfilerStep
-- with a number behind or not, one row for each. Ask nvtx_gpu for ranges of other names.
--
-- name: message
-- host_ms: how long the step took on the host, ms; NULL = never closed
-- gpu_busy_ms: time in which work that was asked for in it ran, ms, of the busiest device; 0 = none
-- work: kernels, copies, sets and the like, of all devices
-- kernels: of these, kernels
-- start: when it was opened, ns on CUPTI's clock
-- end: when it was closed, ns on CUPTI's clock; NULL = never
-- t_ms: start, ms after the first of the run
-- range_id: nvtx_ranges.id
-- thread_id: thread that opened it
-- process_id: process that opened it
CREATE VIEW steps AS
SELECT n.value AS name,
       (r.stop - r.start) / 1e6 AS host_ms,
       coalesce((SELECT max(t.busy) FROM RANGE_TIME AS t WHERE t.range = r._id_), 0) / 1e6
         AS gpu_busy_ms,
       coalesce((SELECT sum(t.work) FROM RANGE_TIME AS t WHERE t.range = r._id_), 0) AS work,
       coalesce((SELECT sum(t.kernels) FROM RANGE_TIME AS t WHERE t.range = r._id_), 0) AS kernels,
       r.start AS start,
       r.stop AS "end",
       (r.start - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS t_ms,
       r._id_ AS range_id,
       r.threadId AS thread_id,
       r.processId AS process_id
FROM NVTX_RANGE AS r
JOIN StringTable AS n ON n._id_ = r.name
WHERE rtrim(lower(n.value), ' 0123456789:/#_') IN
      ('step', 'iteration', 'iter', 'batch', 'profilerstep', 'train step', 'train_step',
       'training step', 'training_step', 'global step', 'global_step', 'train batch', 'train_batch');
