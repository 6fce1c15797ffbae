-- Devices, as each process saw them.
--
-- device_id INTEGER: the device, as the other views have it
-- name TEXT: name of the model
-- compute_capability TEXT: as text, 9.0
-- multiprocessors INTEGER [count]: multiprocessors (SM)
-- memory INTEGER [bytes]: memory
-- memory_bandwidth INTEGER [bytes/s]: of the device's memory
-- l2_cache INTEGER [bytes]: second-level cache
-- core_clock INTEGER [Hz]: clock of the multiprocessors
-- max_threads_per_multiprocessor INTEGER [count]: threads on a multiprocessor, at most
-- max_blocks_per_multiprocessor INTEGER [count]: blocks on a multiprocessor, at most
-- max_registers_per_multiprocessor INTEGER [count]: 32-bit registers of a multiprocessor
-- max_shared_memory_per_multiprocessor INTEGER [bytes]: shared memory of a multiprocessor, at most
-- uuid TEXT: UUID as nvidia-smi prints it; NULL = not known
-- is_mig INTEGER: 1 = cut into MIG instances
-- is_visible INTEGER: 1 = CUDA_VISIBLE_DEVICES lets the process see it
-- process_id INTEGER: process that saw it
CREATE VIEW devices AS
SELECT d.id AS device_id,
       n.value AS name,
       d.computeCapabilityMajor || '.' || d.computeCapabilityMinor AS compute_capability,
       d.numMultiprocessors AS multiprocessors,
       d.globalMemorySize AS memory,
       d.globalMemoryBandwidth * 1000 AS memory_bandwidth,
       d.l2CacheSize AS l2_cache,
       d.coreClockRate * 1000 AS core_clock,
       d.maxWarpsPerMultiprocessor * d.numThreadsPerWarp AS max_threads_per_multiprocessor,
       d.maxBlocksPerMultiprocessor AS max_blocks_per_multiprocessor,
       d.maxRegistersPerMultiprocessor AS max_registers_per_multiprocessor,
       d.maxSharedMemoryPerMultiprocessor AS max_shared_memory_per_multiprocessor,
       CASE WHEN d.uuid IS NOT NULL THEN
       'GPU-' || lower(substr(hex(d.uuid), 1, 8) || '-' || substr(hex(d.uuid), 9, 4) || '-' ||
                       substr(hex(d.uuid), 13, 4) || '-' || substr(hex(d.uuid), 17, 4) || '-' ||
                       substr(hex(d.uuid), 21)) END AS uuid,
       d.isMigEnabled AS is_mig,
       d.isCudaVisible AS is_visible,
       d.processId AS process_id
FROM CUPTI_ACTIVITY_KIND_DEVICE AS d
LEFT JOIN StringTable AS n ON n._id_ = nullif(d.name, 0)
UNION ALL
{types};
