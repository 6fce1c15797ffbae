-- Everything the GPU did, in one shape: kernels, memory copies and sets, batches of its decompression
-- engine, and with --trace +graph CUDA graphs as a whole in place of what is in them.
--
-- type: kernel, memcpy, memset, decompress or graph
-- name: the kernel's, [CUDA memcpy HtoD], ..., [CUDA memset], [CUDA memory decompression] or
--   [CUDA graph]
-- start: start on the GPU, ns on CUPTI's clock; NULL = not collected
-- end: end on the GPU, ns on CUPTI's clock; NULL = not collected
-- duration: ns; NULL = not collected
-- bytes: bytes copied, set or read by the decompression; NULL for kernels and graphs
-- device_id: device that ran it
-- context_id: context that ran it
-- stream_id: stream that ran it
-- correlation_id: joins api_calls.correlation_id
-- graph_id: executable CUDA graph; 0 = not from a graph
-- graph_node_id: node of that graph; 0 = not from a graph
-- process_id: process that asked for it
-- range_id: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL = none
-- range_name: its message
-- range_path: messages of the ranges around it and its own, with / between
-- range_match: thread = it is a range of the calling thread; time = that had none, and this one was
--   the last that was opened in the process and still open
-- t_ms: start, ms after the first of the run
CREATE VIEW gpu_activities AS
SELECT 'kernel' AS type, name, start, "end", duration, NULL AS bytes, device_id, context_id,
       stream_id, correlation_id, graph_id, graph_node_id, process_id, range_id, range_name,
       range_path, range_match, t_ms
FROM kernels
UNION ALL
SELECT 'memcpy', '[CUDA memcpy ' || kind || ']', start, "end", duration, bytes, device_id,
       context_id, stream_id, correlation_id, graph_id, graph_node_id, process_id, range_id, range_name,
       range_path, range_match, t_ms
FROM memcpys
UNION ALL
SELECT 'memset', '[CUDA memset]', start, "end", duration, bytes, device_id, context_id, stream_id,
       correlation_id, graph_id, graph_node_id, process_id, range_id, range_name,
       range_path, range_match, t_ms
FROM memsets
UNION ALL
SELECT 'decompress', '[CUDA memory decompression]', nullif(start, 0), nullif(stop, 0),
       nullif(stop, 0) - nullif(start, 0), sourceBytes, deviceId, contextId, streamId,
       correlationId, 0, 0, processId, range_id, range_name, range_path, range_match,
       t_ms
FROM (SELECT d.*,
             l.range AS range_id,
             rn.value AS range_name,
             rp.value AS range_path,
             CASE l.byThread WHEN 1 THEN 'thread' WHEN 0 THEN 'time' END AS range_match,
             (nullif(d.start, 0) - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS t_ms
      FROM CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS AS d
      LEFT JOIN LAUNCH_RANGE AS l ON l.correlationId = d.correlationId
      LEFT JOIN NVTX_RANGE AS r ON r._id_ = l.range
      LEFT JOIN NVTX_PATH AS p ON p.range = l.range
      LEFT JOIN StringTable AS rn ON rn._id_ = nullif(r.name, 0)
      LEFT JOIN StringTable AS rp ON rp._id_ = p.path)
UNION ALL
SELECT 'graph', '[CUDA graph]', nullif(start, 0), nullif("end", 0),
       nullif("end", 0) - nullif(start, 0), NULL, deviceId, contextId, streamId, correlationId,
       graphId, 0, processId, range_id, range_name, range_path, range_match, t_ms
FROM (SELECT g.*,
             l.range AS range_id,
             rn.value AS range_name,
             rp.value AS range_path,
             CASE l.byThread WHEN 1 THEN 'thread' WHEN 0 THEN 'time' END AS range_match,
             (nullif(g.start, 0) - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS t_ms
      FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE AS g
      LEFT JOIN LAUNCH_RANGE AS l ON l.correlationId = g.correlationId
      LEFT JOIN NVTX_RANGE AS r ON r._id_ = l.range
      LEFT JOIN NVTX_PATH AS p ON p.range = l.range
      LEFT JOIN StringTable AS rn ON rn._id_ = nullif(r.name, 0)
      LEFT JOIN StringTable AS rp ON rp._id_ = p.path);
