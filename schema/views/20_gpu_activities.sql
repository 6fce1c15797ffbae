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
CREATE VIEW gpu_activities AS
SELECT 'kernel' AS type, name, start, "end", duration, NULL AS bytes, device_id, context_id,
       stream_id, correlation_id, graph_id, graph_node_id, process_id
FROM kernels
UNION ALL
SELECT 'memcpy', '[CUDA memcpy ' || kind || ']', start, "end", duration, bytes, device_id,
       context_id, stream_id, correlation_id, graph_id, graph_node_id, process_id
FROM memcpys
UNION ALL
SELECT 'memset', '[CUDA memset]', start, "end", duration, bytes, device_id, context_id, stream_id,
       correlation_id, graph_id, graph_node_id, process_id
FROM memsets
UNION ALL
SELECT 'decompress', '[CUDA memory decompression]', nullif(start, 0), nullif(stop, 0),
       nullif(stop, 0) - nullif(start, 0), sourceBytes, deviceId, contextId, streamId,
       correlationId, 0, 0, processId
FROM CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS
UNION ALL
SELECT 'graph', '[CUDA graph]', nullif(start, 0), nullif("end", 0),
       nullif("end", 0) - nullif(start, 0), NULL, deviceId, contextId, streamId, correlationId,
       graphId, 0, processId
FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
