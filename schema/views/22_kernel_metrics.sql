-- Values of metrics by kernel: one row for each kernel and metric that was measured.
--
-- name TEXT: demangled name of the kernel
-- short_name TEXT: name of the function alone, without namespace, template arguments and parameters
-- metric TEXT: name of the metric
-- value REAL: in the unit
-- unit TEXT: of the value; '' = a plain number
-- correlation_id INTEGER: joins kernels.correlation_id; NULL = none
-- device_id INTEGER: device that ran it
-- context_id INTEGER: context that ran it
-- stream_id INTEGER: stream that ran it; NULL = not known
-- process_id INTEGER: process that launched it
-- grid TEXT: blocks as text, (x,y,z)
-- block TEXT: threads of a block as text, (x,y,z)
-- start INTEGER [ns]: start on the GPU, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end on the GPU, on CUPTI's clock, as start
-- duration INTEGER [ns]: from start to end; NULL = not collected
-- ordinal INTEGER: counts the launches of the context from 1
-- pass_group INTEGER: METRIC_GROUP that was measured
-- note TEXT: why the kernel has no values of other metrics; NULL = it has all
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
