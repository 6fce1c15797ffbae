-- Streams that were made or had work, one row each.
--
-- name TEXT: name that the program gave it through NVTX; NULL = none
-- is_default INTEGER: 1 = the default stream of its context
-- priority INTEGER: its priority, less is more urgent; NULL = its making was not collected
-- kernels INTEGER [count]: kernels that ran in it
-- copies INTEGER [count]: memory copies and sets that ran in it
-- work_time INTEGER [ns]: sum of their durations; work that overlaps counts more than once
-- first INTEGER [ns]: start of the first of them, on CUPTI's clock; NULL = none with times
-- last INTEGER [ns]: end of the last of them, on CUPTI's clock; NULL = none with times
-- device_id INTEGER: its device; NULL = not known
-- context_id INTEGER: its context
-- stream_id INTEGER: the stream
-- process_id INTEGER: its process
CREATE VIEW streams AS
SELECT (SELECT s.value FROM CUPTI_ACTIVITY_KIND_NAME AS n JOIN StringTable AS s ON s._id_ = n.name
        WHERE n.objectKind = 5 AND n.objectStreamId = t.streamId
          AND n.objectContextId = t.contextId AND n.processId = t.processId
        ORDER BY n._id_ DESC LIMIT 1) AS name,
       EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_CONTEXT AS c
               WHERE c.contextId = t.contextId AND c.processId = t.processId
                 AND c.nullStreamId = t.streamId) AS is_default,
       max(t.priority) AS priority,
       sum(t.kernels) AS kernels,
       sum(t.copies) AS copies,
       sum(t.time) AS work_time,
       min(t.first) AS first,
       max(t.last) AS last,
       coalesce(max(t.deviceId), (SELECT max(c.deviceId) FROM CUPTI_ACTIVITY_KIND_CONTEXT AS c
                                  WHERE c.contextId = t.contextId
                                    AND c.processId = t.processId)) AS device_id,
       t.contextId AS context_id,
       t.streamId AS stream_id,
       t.processId AS process_id
FROM (SELECT processId, contextId, streamId, NULL AS deviceId, priority, 0 AS kernels, 0 AS copies,
             0 AS time, NULL AS first, NULL AS last
      FROM CUPTI_ACTIVITY_KIND_STREAM
      UNION ALL
      SELECT process_id, context_id, stream_id, max(device_id), NULL, sum(type = 'kernel'),
             sum(type IN ('memcpy', 'memset')), coalesce(sum(duration), 0), min(start), max("end")
      FROM gpu_activities
      GROUP BY process_id, context_id, stream_id) AS t
GROUP BY t.processId, t.contextId, t.streamId
UNION ALL
{types};
