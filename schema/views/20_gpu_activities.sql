-- Everything the GPU did, in one shape: kernels, memory copies and sets, batches of its decompression
-- engine, and with --trace +graph CUDA graphs as a whole instead of their nodes.
--
-- type TEXT: kernel, memcpy, memset, decompress or graph
-- name TEXT: the kernel's, [CUDA memcpy HtoD], ..., [CUDA memset], [CUDA memory decompression] or
--   [CUDA graph]
-- start INTEGER [ns]: start on the GPU, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end on the GPU, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: from start to end; NULL = not collected
-- bytes INTEGER [bytes]: how much was copied, set or read by the decompression; NULL for kernels
--   and graphs
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
CREATE VIEW gpu_activities AS
SELECT w.type AS type,
       coalesce(s.demangled, s.value,
                w.before || coalesce((SELECT e.name FROM ENUM_NAME AS e
                                      WHERE e.enum = w.named AND e.value = w.number),
                                     CAST(w.number AS TEXT), '') || w.behind) AS name,
       nullif(w.start, 0) AS start,
       nullif(w.stop, 0) AS "end",
       nullif(w.stop, 0) - nullif(w.start, 0) AS duration,
       w.bytes AS bytes,
       w.deviceId AS device_id,
       w.contextId AS context_id,
       w.streamId AS stream_id,
       w.correlationId AS correlation_id,
       w.graphId AS graph_id,
       w.graphNodeId AS graph_node_id,
       w.processId AS process_id,
       l.range AS range_id,
       rn.value AS range_name,
       rp.value AS range_path,
       {TEXT CASE l.byThread WHEN 1 THEN 'thread' WHEN 0 THEN 'time' END} AS range_match,
       (nullif(w.start, 0) - {zero}) / 1e6 AS t_ms
FROM ({gpu_work}) AS w
LEFT JOIN StringTable AS s ON s._id_ = nullif(w.string, 0)
LEFT JOIN LAUNCH_RANGE AS l ON l.correlationId = w.correlationId
LEFT JOIN NVTX_RANGE AS r ON r._id_ = l.range
LEFT JOIN NVTX_PATH AS p ON p.range = l.range
LEFT JOIN StringTable AS rn ON rn._id_ = nullif(r.name, 0)
LEFT JOIN StringTable AS rp ON rp._id_ = p.path;
