-- Whose memory it was when most was allocated (memory_peak): a row for each library that asked.
--
-- source TEXT: program or library that asked; NULL = not collected, which takes --trace
--   +allocation-source
-- bytes INTEGER [bytes]: how much of it was there
-- allocations INTEGER [count]: allocations of it that were there
-- share REAL [share]: of all bytes that were there, from 0 to 1
-- memory TEXT: kind of memory: Device, Pinned, Managed, ...
-- pool_type TEXT: local or imported; NULL = not from a pool
-- device_id INTEGER: device
-- process_id INTEGER: process
CREATE VIEW memory_owners AS
SELECT s.value AS source,
       o.bytes AS bytes,
       o.allocations AS allocations,
       o.bytes * 1.0 / (SELECT sum(a.bytes) FROM MEMORY_OWNER AS a
                        WHERE a.processId = o.processId AND a.deviceId = o.deviceId
                          AND a.memoryKind = o.memoryKind AND a.poolType = o.poolType) AS share,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryKind' AND e.value = o.memoryKind),
                CAST(o.memoryKind AS TEXT)) AS memory,
       (SELECT e.name FROM ENUM_NAME AS e
        WHERE e.enum = 'CUpti_ActivityMemoryPoolType'
          AND e.value = nullif(o.poolType, 0)) AS pool_type,
       o.deviceId AS device_id,
       o.processId AS process_id
FROM MEMORY_OWNER AS o
LEFT JOIN StringTable AS s ON s._id_ = nullif(o.source, 0)
UNION ALL
{types};
