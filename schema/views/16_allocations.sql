-- Allocations and releases of memory, one row per operation.
--
-- operation: allocation or release
-- memory: kind of memory: Device, Pinned, Managed, ...
-- bytes: bytes of the allocation
-- address: address
-- time: when, ns on CUPTI's clock
-- is_async: 1 = ordered in a stream (cudaMallocAsync, cudaFreeAsync)
-- device_id: device
-- context_id: context; 0 = none
-- stream_id: stream of an asynchronous operation; 0 = none
-- pool_type: local or imported; NULL = not from a pool
-- pool_address: address of the pool; NULL = not from a pool
-- pool_size: size of a local pool, bytes; NULL = not from a local pool
-- pool_utilized_size: bytes of a local pool in use; NULL = not from a local pool
-- variable: name of a static variable; NULL = none
-- source: library that asked; NULL = not collected
-- correlation_id: joins api_calls.correlation_id
-- process_id: process
CREATE VIEW allocations AS
SELECT coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryOperationType'
                   AND e.value = m.memoryOperationType),
                m.memoryOperationType) AS operation,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryKind' AND e.value = m.memoryKind),
                m.memoryKind) AS memory,
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
LEFT JOIN StringTable AS l ON l._id_ = nullif(m.source, 0);
