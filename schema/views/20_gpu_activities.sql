-- Everything the GPU did, in one shape: kernels, memory copies and memory sets.
--
-- type: kernel, memcpy or memset
-- name: the kernel's, [CUDA memcpy HtoD], ... or [CUDA memset]
-- start: start on the GPU, ns on CUPTI's clock; 0 = not collected
-- end: end on the GPU, ns on CUPTI's clock; 0 = not collected
-- duration: ns; NULL = not collected
-- bytes: bytes copied or set; NULL for a kernel
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
FROM memsets;
