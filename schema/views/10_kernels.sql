-- Kernels, one row per execution on the GPU; nodes of CUDA graphs included.
--
-- name TEXT: demangled name
-- short_name TEXT: name of the function alone, without namespace, template arguments and parameters
-- display_name TEXT: as short as is unique within the file: the function, with the template arguments
--   that tell its kernels apart; of a name without these and longer than 44 characters the words in
--   which it differs; short_name while the run is not over
-- mangled_name TEXT: name as the compiler made it
-- start INTEGER [ns]: start on the GPU, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end on the GPU, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: from start to end; NULL = not collected
-- grid TEXT: blocks as text, (x,y,z)
-- block TEXT: threads of a block as text, (x,y,z)
-- grid_x INTEGER [count]: blocks in x
-- grid_y INTEGER [count]: blocks in y
-- grid_z INTEGER [count]: blocks in z
-- block_x INTEGER [count]: threads of a block in x
-- block_y INTEGER [count]: threads of a block in y
-- block_z INTEGER [count]: threads of a block in z
-- blocks INTEGER [count]: blocks of the launch
-- threads INTEGER [count]: threads of the launch
-- registers INTEGER [count]: registers per thread
-- static_shared_memory INTEGER [bytes]: static shared memory per block
-- dynamic_shared_memory INTEGER [bytes]: dynamic shared memory per block
-- shared_memory_executed INTEGER [bytes]: shared memory size set for the launch
-- local_memory_per_thread INTEGER [bytes]: local memory per thread
-- cluster_x INTEGER [count]: blocks of a cluster in x; 0 = no clusters
-- cluster_y INTEGER [count]: blocks of a cluster in y
-- cluster_z INTEGER [count]: blocks of a cluster in z
-- max_active_clusters INTEGER [count]: clusters that can run at a time
-- theoretical_occupancy REAL [share]: warps that fit on a multiprocessor at a time, of those it
--   holds, from 0 to 1, see LAUNCH_SHAPE; NULL = not known
-- occupancy_limiter TEXT: what lets no more fit: warps, registers, shared memory or blocks; several with commas; NULL = not known
-- blocks_per_sm INTEGER [count]: blocks that fit on a multiprocessor at a time; NULL = not known
-- waves REAL [count]: blocks of the launch, by those that fit on the device at a time; NULL = not
--   known
-- tail_share REAL [share]: part of the room of all waves that the last one leaves empty, from 0 to
--   1; NULL = not known
-- launch_type TEXT: regular, cooperative, ...
-- priority INTEGER: priority of the launch
-- queued INTEGER [ns]: put into the command buffer; NULL = not collected
-- submitted INTEGER [ns]: submitted to the GPU; NULL = not collected
-- device_id INTEGER: device that ran it
-- context_id INTEGER: context that ran it
-- stream_id INTEGER: stream that ran it
-- correlation_id INTEGER: joins api_calls.correlation_id
-- graph_id INTEGER: executable CUDA graph; 0 = not from a graph
-- graph_node_id INTEGER: node of that graph; 0 = not from a graph
-- process_id INTEGER: process that launched it
-- range_id INTEGER: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL =
--   none
-- range_name TEXT: its message
-- range_path TEXT: messages of the ranges around it and its own, with / between
-- range_match TEXT: thread = it is a range of the calling thread; time = that had none, and this
--   one was the last that was opened in the process and still open
-- t_ms REAL [ms]: start, from the first of the run on
CREATE VIEW kernels AS
SELECT coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       coalesce(s.display, s.short, s.value) AS display_name,
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
       {shape occupancy} AS theoretical_occupancy,
       {shape limiter} AS occupancy_limiter,
       {shape blocksPerMultiprocessor} AS blocks_per_sm,
       {shape waves} AS waves,
       {shape tailShare} AS tail_share,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityLaunchType' AND e.value = k.launchType),
                CAST(k.launchType AS TEXT)) AS launch_type,
       k.priority AS priority,
       {INTEGER nullif(k.queued, 0)} AS queued,
       {INTEGER nullif(k.submitted, 0)} AS submitted,
       k.deviceId AS device_id,
       k.contextId AS context_id,
       k.streamId AS stream_id,
       k.correlationId AS correlation_id,
       k.graphId AS graph_id,
       k.graphNodeId AS graph_node_id,
       k.processId AS process_id,
       l.range AS range_id,
       (SELECT n.value FROM NVTX_RANGE AS r JOIN StringTable AS n ON n._id_ = nullif(r.name, 0)
        WHERE r._id_ = l.range) AS range_name,
       (SELECT n.value FROM NVTX_PATH AS p JOIN StringTable AS n ON n._id_ = p.path
        WHERE p.range = l.range) AS range_path,
       {TEXT CASE l.byThread WHEN 1 THEN 'thread' WHEN 0 THEN 'time' END} AS range_match,
       (nullif(k.start, 0) - {zero}) / 1e6 AS t_ms{stacks k node}
FROM (SELECT name, start, "end", gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
             staticSharedMemory, dynamicSharedMemory, sharedMemoryExecuted, localMemoryPerThread,
             clusterX, clusterY, clusterZ, maxActiveClusters, launchType, priority, queued,
             submitted, deviceId, contextId, streamId, correlationId, graphId, graphNodeId,
             processId, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested
      FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
      UNION ALL
      SELECT name, start, "end", gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
             staticSharedMemory, dynamicSharedMemory, sharedMemoryExecuted, localMemoryPerThread,
             clusterX, clusterY, clusterZ, maxActiveClusters, launchType, priority, queued,
             submitted, deviceId, contextId, streamId, correlationId, graphId, graphNodeId,
             processId, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested
      FROM CUPTI_ACTIVITY_KIND_KERNEL) AS k
LEFT JOIN StringTable AS s ON s._id_ = nullif(k.name, 0)
LEFT JOIN LAUNCH_RANGE AS l ON l.correlationId = k.correlationId;
