-- Allocations and releases of memory, one row per operation.
--
-- operation TEXT: allocation or release
-- memory TEXT: kind of memory: Device, Pinned, Managed, ...
-- bytes INTEGER [bytes]: size of the allocation
-- address INTEGER: address
-- time INTEGER [ns]: when, on CUPTI's clock
-- is_async INTEGER: 1 = ordered in a stream (cudaMallocAsync, cudaFreeAsync)
-- device_id INTEGER: device
-- context_id INTEGER: context; 0 = none
-- stream_id INTEGER: stream of an asynchronous operation; 0 = none
-- pool_type TEXT: local or imported; NULL = not from a pool
-- pool_address INTEGER: address of the pool; NULL = not from a pool
-- pool_size INTEGER [bytes]: size of a local pool; NULL = not from a local pool
-- pool_utilized_size INTEGER [bytes]: how much of a local pool is in use; NULL = not from a local
--   pool
-- variable TEXT: name of a static variable; NULL = none
-- source TEXT: library that asked; NULL = not collected
-- correlation_id INTEGER: joins api_calls.correlation_id
-- process_id INTEGER: process
CREATE VIEW allocations AS
SELECT coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryOperationType'
                   AND e.value = m.memoryOperationType),
                CAST(m.memoryOperationType AS TEXT)) AS operation,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryKind' AND e.value = m.memoryKind),
                CAST(m.memoryKind AS TEXT)) AS memory,
       m.bytes AS bytes,
       m.address AS address,
       m.timestamp AS time,
       m.isAsync AS is_async,
       m.deviceId AS device_id,
       m.contextId AS context_id,
       m.streamId AS stream_id,
       (SELECT e.name FROM ENUM_NAME AS e
        WHERE e.enum = 'CUpti_ActivityMemoryPoolType'
          AND e.value = nullif(m.poolType, 0)) AS pool_type,
       CASE WHEN m.poolType <> 0 THEN m.poolAddress END AS pool_address,
       m.poolSize AS pool_size,
       CASE WHEN m.poolType = 1 THEN m.poolUtilizedSize END AS pool_utilized_size,
       v.value AS variable,
       l.value AS source,
       m.correlationId AS correlation_id,
       m.processId AS process_id
FROM CUPTI_ACTIVITY_KIND_MEMORY2 AS m
LEFT JOIN StringTable AS v ON v._id_ = nullif(m.name, 0)
LEFT JOIN StringTable AS l ON l._id_ = nullif(m.source, 0)
UNION ALL
{types};
