-- Values of metrics by kernel: one row for each kernel and metric that was measured.
--
-- name: demangled name of the kernel
-- short_name: name of the function alone, without namespace, template arguments and parameters
-- metric: name of the metric
-- value: in the unit
-- unit: of the value; '' = a plain number
-- correlation_id: joins kernels.correlation_id; NULL = none
-- device_id: device that ran it
-- context_id: context that ran it
-- stream_id: stream that ran it; NULL = not known
-- process_id: process that launched it
-- grid: blocks as text, (x,y,z)
-- block: threads of a block as text, (x,y,z)
-- start: start on the GPU, ns on CUPTI's clock; NULL = not collected
-- end: end on the GPU, ns on CUPTI's clock, as start
-- duration: ns; NULL = not collected
-- ordinal: counts the launches of the context from 1
-- pass_group: METRIC_GROUP that was measured
-- note: why the kernel has no values of other metrics; NULL = it has all
CREATE VIEW kernel_metrics AS
SELECT coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       m.name AS metric,
       v.value AS value,
       m.unit AS unit,
       r.correlationId AS correlation_id,
       r.deviceId AS device_id,
       r.contextId AS context_id,
       r.streamId AS stream_id,
       r.processId AS process_id,
       '(' || r.gridX || ',' || r.gridY || ',' || r.gridZ || ')' AS grid,
       '(' || r.blockX || ',' || r.blockY || ',' || r.blockZ || ')' AS block,
       nullif(coalesce(k.start, c.start), 0) AS start,
       nullif(coalesce(k."end", c."end"), 0) AS "end",
       nullif(coalesce(k."end", c."end"), 0) - nullif(coalesce(k.start, c.start), 0) AS duration,
       r.ordinal AS ordinal,
       r.passGroup AS pass_group,
       r.note AS note
FROM METRIC_RANGE AS r
JOIN METRIC_VALUE AS v ON v.range = r._id_
JOIN METRIC AS m ON m._id_ = v.metric
LEFT JOIN StringTable AS s ON s._id_ = r.name
LEFT JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k
  ON k.correlationId = r.correlationId AND k.name = coalesce(r.name, k.name)
LEFT JOIN CUPTI_ACTIVITY_KIND_KERNEL AS c
  ON c.correlationId = r.correlationId AND c.name = coalesce(r.name, c.name)
WHERE r.kind = 'kernel';
