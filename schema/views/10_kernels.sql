-- Kernels, one row per execution on the GPU; nodes of CUDA graphs included.
--
-- name: demangled name
-- short_name: name of the function alone, without namespace, template arguments and parameters
-- mangled_name: name as the compiler made it
-- start: start on the GPU, ns on CUPTI's clock; NULL = not collected
-- end: end on the GPU, ns on CUPTI's clock; NULL = not collected
-- duration: ns; NULL = not collected
-- grid: blocks as text, (x,y,z)
-- block: threads of a block as text, (x,y,z)
-- grid_x: blocks in x
-- grid_y: blocks in y
-- grid_z: blocks in z
-- block_x: threads of a block in x
-- block_y: threads of a block in y
-- block_z: threads of a block in z
-- blocks: blocks of the launch
-- threads: threads of the launch
-- registers: registers per thread
-- static_shared_memory: static shared memory per block, bytes
-- dynamic_shared_memory: dynamic shared memory per block, bytes
-- shared_memory_executed: shared memory size set for the launch, bytes
-- local_memory_per_thread: bytes
-- cluster_x: blocks of a cluster in x; 0 = no clusters
-- cluster_y: blocks of a cluster in y
-- cluster_z: blocks of a cluster in z
-- max_active_clusters: clusters that can run at a time
-- launch_type: regular, cooperative, ...
-- priority: priority of the launch
-- queued: put into the command buffer, ns; NULL = not collected
-- submitted: submitted to the GPU, ns; NULL = not collected
-- device_id: device that ran it
-- context_id: context that ran it
-- stream_id: stream that ran it
-- correlation_id: joins api_calls.correlation_id
-- graph_id: executable CUDA graph; 0 = not from a graph
-- graph_node_id: node of that graph; 0 = not from a graph
-- process_id: process that launched it
-- range_id: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL = none
-- range_name: its message
-- range_path: messages of the ranges around it and its own, with / between
-- range_match: thread = it is a range of the calling thread; time = that had none, and this one was
--   the last that was opened in the process and still open
-- t_ms: start, ms after the first of the run
CREATE VIEW kernels AS
SELECT coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       s.value AS mangled_name,
       nullif(k.start, 0) AS start,
       nullif(k."end", 0) AS "end",
       nullif(k."end", 0) - nullif(k.start, 0) AS duration,
       '(' || k.gridX || ',' || k.gridY || ',' || k.gridZ || ')' AS grid,
       '(' || k.blockX || ',' || k.blockY || ',' || k.blockZ || ')' AS block,
       k.gridX AS grid_x,
       k.gridY AS grid_y,
       k.gridZ AS grid_z,
       k.blockX AS block_x,
       k.blockY AS block_y,
       k.blockZ AS block_z,
       k.gridX * k.gridY * k.gridZ AS blocks,
       k.gridX * k.gridY * k.gridZ * k.blockX * k.blockY * k.blockZ AS threads,
       k.registersPerThread AS registers,
       k.staticSharedMemory AS static_shared_memory,
       k.dynamicSharedMemory AS dynamic_shared_memory,
       k.sharedMemoryExecuted AS shared_memory_executed,
       k.localMemoryPerThread AS local_memory_per_thread,
       k.clusterX AS cluster_x,
       k.clusterY AS cluster_y,
       k.clusterZ AS cluster_z,
       k.maxActiveClusters AS max_active_clusters,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityLaunchType' AND e.value = k.launchType),
                k.launchType) AS launch_type,
       k.priority AS priority,
       nullif(k.queued, 0) AS queued,
       nullif(k.submitted, 0) AS submitted,
       k.deviceId AS device_id,
       k.contextId AS context_id,
       k.streamId AS stream_id,
       k.correlationId AS correlation_id,
       k.graphId AS graph_id,
       k.graphNodeId AS graph_node_id,
       k.processId AS process_id,
       l.range AS range_id,
       rn.value AS range_name,
       rp.value AS range_path,
       CASE l.byThread WHEN 1 THEN 'thread' WHEN 0 THEN 'time' END AS range_match,
       (nullif(k.start, 0) - (SELECT value FROM RUN WHERE key = 'zero_ns')) / 1e6 AS t_ms
FROM (SELECT name, start, "end", gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
             staticSharedMemory, dynamicSharedMemory, sharedMemoryExecuted, localMemoryPerThread,
             clusterX, clusterY, clusterZ, maxActiveClusters, launchType, priority, queued,
             submitted, deviceId, contextId, streamId, correlationId, graphId, graphNodeId,
             processId
      FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
      UNION ALL
      SELECT name, start, "end", gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
             staticSharedMemory, dynamicSharedMemory, sharedMemoryExecuted, localMemoryPerThread,
             clusterX, clusterY, clusterZ, maxActiveClusters, launchType, priority, queued,
             submitted, deviceId, contextId, streamId, correlationId, graphId, graphNodeId,
             processId
      FROM CUPTI_ACTIVITY_KIND_KERNEL) AS k
LEFT JOIN StringTable AS s ON s._id_ = nullif(k.name, 0)
LEFT JOIN LAUNCH_RANGE AS l ON l.correlationId = k.correlationId
LEFT JOIN NVTX_RANGE AS r ON r._id_ = l.range
LEFT JOIN NVTX_PATH AS p ON p.range = l.range
LEFT JOIN StringTable AS rn ON rn._id_ = nullif(r.name, 0)
LEFT JOIN StringTable AS rp ON rp._id_ = p.path;
