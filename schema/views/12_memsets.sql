-- Memory sets, one row each.
--
-- bytes INTEGER [bytes]: how much was written
-- value INTEGER: value written
-- start INTEGER [ns]: start on the GPU, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end on the GPU, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: from start to end; NULL = not collected
-- throughput INTEGER [bytes/s]: NULL = not known
-- memory TEXT: kind of memory written: Device, Managed, ...
-- is_async INTEGER: 1 = the call did not wait for it
-- device_id INTEGER: device that ran it
-- context_id INTEGER: context that ran it
-- stream_id INTEGER: stream that ran it
-- correlation_id INTEGER: joins api_calls.correlation_id
-- graph_id INTEGER: executable CUDA graph; 0 = not from a graph
-- graph_node_id INTEGER: node of that graph; 0 = not from a graph
-- process_id INTEGER: process that asked for it
-- range_id INTEGER: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL =
--   none
-- range_name TEXT: its message
-- range_path TEXT: messages of the ranges around it and its own, with / between
-- range_match TEXT: thread = it is a range of the calling thread; time = that had none, and this
--   one was the last that was opened in the process and still open
-- t_ms REAL [ms]: start, from the first of the run on
CREATE VIEW memsets AS
SELECT m.bytes AS bytes,
       m.value AS value,
       nullif(m.start, 0) AS start,
       nullif(m."end", 0) AS "end",
       nullif(m."end", 0) - nullif(m.start, 0) AS duration,
       CAST(m.bytes * 1e9 / nullif(m."end" - m.start, 0) AS BIGINT) AS throughput,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryKind' AND e.value = m.memoryKind),
                CAST(m.memoryKind AS TEXT)) AS memory,
       m.flags & 1 AS is_async,
       m.deviceId AS device_id,
       m.contextId AS context_id,
       m.streamId AS stream_id,
       m.correlationId AS correlation_id,
       m.graphId AS graph_id,
       m.graphNodeId AS graph_node_id,
       m.processId AS process_id,
       l.range AS range_id,
       rn.value AS range_name,
       rp.value AS range_path,
       {TEXT CASE l.byThread WHEN 1 THEN 'thread' WHEN 0 THEN 'time' END} AS range_match,
       (nullif(m.start, 0) - {zero}) / 1e6 AS t_ms{stacks m node}
FROM CUPTI_ACTIVITY_KIND_MEMSET AS m
LEFT JOIN LAUNCH_RANGE AS l ON l.correlationId = m.correlationId
LEFT JOIN NVTX_RANGE AS r ON r._id_ = l.range
LEFT JOIN NVTX_PATH AS p ON p.range = l.range
LEFT JOIN StringTable AS rn ON rn._id_ = nullif(r.name, 0)
LEFT JOIN StringTable AS rp ON rp._id_ = p.path;
