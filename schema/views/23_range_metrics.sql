-- Values of metrics over several kernels: one row for each metric that was measured of a range that
-- the user marked, or of a launch of a CUDA graph.
--
-- kind TEXT: range or graph
-- name TEXT: of the range; NULL = none
-- metric TEXT: name of the metric
-- value REAL: in the unit
-- unit TEXT: of the value; '' = a plain number
-- id INTEGER: METRIC_RANGE that was measured
-- correlation_id INTEGER: of a graph: joins kernels.correlation_id; NULL = none
-- device_id INTEGER: device that was measured
-- context_id INTEGER: context that was measured
-- stream_id INTEGER: stream the graph was launched in; NULL = not known
-- process_id INTEGER: process that was measured
-- start INTEGER [ns]: when it began, of a graph its first kernel, on CUPTI's clock; NULL = not
--   known
-- end INTEGER [ns]: when it was over, on CUPTI's clock; NULL = not known
-- duration INTEGER [ns]: from start to end; NULL = not known
-- ordinal INTEGER: counts the launches of the context from 1; of 'range' the ranges
-- pass_group INTEGER: METRIC_GROUP that was measured
-- note TEXT: why it has no values of other metrics; NULL = it has all
CREATE VIEW range_metrics AS
SELECT r.kind AS kind,
       coalesce(s.demangled, s.value) AS name,
       m.name AS metric,
       v.value AS value,
       m.unit AS unit,
       r._id_ AS id,
       r.correlationId AS correlation_id,
       r.deviceId AS device_id,
       r.contextId AS context_id,
       r.streamId AS stream_id,
       r.processId AS process_id,
       coalesce(r.start, g.start) AS start,
       coalesce(r.stop, g.stop) AS "end",
       coalesce(r.stop, g.stop) - coalesce(r.start, g.start) AS duration,
       r.ordinal AS ordinal,
       r.passGroup AS pass_group,
       r.note AS note
FROM METRIC_RANGE AS r
JOIN METRIC_VALUE AS v ON v.range = r._id_
JOIN METRIC AS m ON m._id_ = v.metric
LEFT JOIN StringTable AS s ON s._id_ = r.name
LEFT JOIN (SELECT k.correlationId, min(nullif(k.start, 0)) AS start, max(nullif(k."end", 0)) AS stop
           FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k
           WHERE k.correlationId IN (SELECT w.correlationId FROM METRIC_RANGE AS w
                                     WHERE w.kind = 'graph')
           GROUP BY k.correlationId) AS g
  ON g.correlationId = r.correlationId
WHERE r.kind <> 'kernel'
UNION ALL
{types};
