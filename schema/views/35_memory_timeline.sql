-- Allocated memory over time, a row for each allocation and release. It is counted by process, device,
-- kind of memory, and whether it is from a pool.
--
-- time INTEGER [ns]: when, on CUPTI's clock
-- change INTEGER [bytes]: how much was allocated; below 0 = released
-- in_use INTEGER [bytes]: how much was allocated from then on; below 0 = from before collection; NULL = the run is not over
-- memory TEXT: kind of memory: Device, Pinned, Managed, ...
-- pool_type TEXT: local or imported; NULL = not from a pool
-- address INTEGER: address
-- source TEXT: library that asked; NULL = not collected
-- device_id INTEGER: device
-- process_id INTEGER: process
-- operation_id INTEGER: MEMORY2._id_; allocations of one time are in its order
-- t_ms REAL [ms]: time, from the first of the run on
CREATE VIEW memory_timeline AS
SELECT m.timestamp AS time,
       CASE m.memoryOperationType WHEN 1 THEN m.bytes WHEN 2 THEN -m.bytes END AS change,
       u.inUse AS in_use,
       coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemoryKind' AND e.value = m.memoryKind),
                CAST(m.memoryKind AS TEXT)) AS memory,
       (SELECT e.name FROM ENUM_NAME AS e
        WHERE e.enum = 'CUpti_ActivityMemoryPoolType'
          AND e.value = nullif(m.poolType, 0)) AS pool_type,
       m.address AS address,
       s.value AS source,
       m.deviceId AS device_id,
       m.processId AS process_id,
       m._id_ AS operation_id,
       (m.timestamp - {zero}) / 1e6 AS t_ms
FROM CUPTI_ACTIVITY_KIND_MEMORY2 AS m
LEFT JOIN MEMORY_USE AS u ON u.operation = m._id_
LEFT JOIN StringTable AS s ON s._id_ = nullif(m.source, 0);
