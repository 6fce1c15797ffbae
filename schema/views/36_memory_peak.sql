-- When most memory was allocated, by process, device, kind of memory, and whether it is from a pool.
-- memory_owners has whose it was.
--
-- bytes INTEGER [bytes]: the most that was allocated at a time
-- allocations INTEGER [count]: allocations that were there then
-- memory TEXT: kind of memory: Device, Pinned, Managed, ...
-- pool_type TEXT: local or imported; NULL = not from a pool
-- time INTEGER [ns]: when it was first reached, on CUPTI's clock
-- t_ms REAL [ms]: time, from the first of the run on
-- device_id INTEGER: device
-- process_id INTEGER: process
CREATE VIEW memory_peak AS
SELECT p.bytes AS bytes,
       p.allocations AS allocations,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryKind' AND e.value = p.memoryKind),
                CAST(p.memoryKind AS TEXT)) AS memory,
       (SELECT e.name FROM ENUM_NAME AS e
        WHERE e.enum = 'CUpti_ActivityMemoryPoolType'
          AND e.value = nullif(p.poolType, 0)) AS pool_type,
       m.timestamp AS time,
       (m.timestamp - {zero}) / 1e6 AS t_ms,
       p.deviceId AS device_id,
       p.processId AS process_id
FROM MEMORY_MAXIMUM AS p
LEFT JOIN CUPTI_ACTIVITY_KIND_MEMORY2 AS m ON m._id_ = p.operation
UNION ALL
{types};
