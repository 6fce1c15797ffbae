-- What each kernel read and wrote of its device's memory, and how much of it its process had
-- allocated when the kernel began. Bytes and hit rates need the metrics dram_read_bytes,
-- dram_write_bytes, l2_tex_hit_rate and tex_cache_hit_rate, or those of CUPTI that they are made of.
--
-- name TEXT: demangled name
-- short_name TEXT: name of the function alone, without namespace, template arguments and parameters
-- start INTEGER [ns]: start on the GPU, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end on the GPU, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: from start to end; NULL = not collected
-- read_bytes REAL [bytes]: read from the device's memory; NULL = not measured
-- written_bytes REAL [bytes]: written to the device's memory; NULL = not measured
-- l2_hit_rate REAL [%]: sectors that were found in the L2 cache; NULL = not measured
-- l1_hit_rate REAL [%]: sectors that were found in the L1 cache; NULL = not measured
-- allocated_bytes INTEGER [bytes]: memory of the device that its process had
--   allocated when it began; that of cuMemCreate is known with --track-memory; NULL = no allocation
--   before is known, or the run is not over
-- device_id INTEGER: device that ran it
-- context_id INTEGER: context that ran it
-- stream_id INTEGER: stream that ran it
-- process_id INTEGER: process that launched it
-- correlation_id INTEGER: joins kernels.correlation_id
CREATE VIEW kernel_memory AS
SELECT coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       nullif(k.start, 0) AS start,
       nullif(k."end", 0) AS "end",
       nullif(k."end", 0) - nullif(k.start, 0) AS duration,
       {REAL {measured 'dram_read_bytes', 'dram__bytes_read.sum', 'dram__bytes_op_read.sum'}}
         AS read_bytes,
       {REAL {measured 'dram_write_bytes', 'dram__bytes_write.sum', 'dram__bytes_op_write.sum'}}
         AS written_bytes,
       {REAL {measured 'l2_tex_hit_rate', 'lts__t_sector_hit_rate.pct'}} AS l2_hit_rate,
       {REAL {measured 'tex_cache_hit_rate', 'l1tex__t_sector_hit_rate.pct'}} AS l1_hit_rate,
       {INTEGER (SELECT p.inUse FROM PROCESS_MEMORY AS p
                 WHERE p.processId = k.processId AND p.deviceId = k.deviceId
                   AND p.time <= nullif(k.start, 0)
                 ORDER BY p.time DESC LIMIT 1)} AS allocated_bytes,
       k.deviceId AS device_id,
       k.contextId AS context_id,
       k.streamId AS stream_id,
       k.processId AS process_id,
       k.correlationId AS correlation_id
FROM (SELECT name, start, "end", deviceId, contextId, streamId, processId, correlationId
      FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
      UNION ALL
      SELECT name, start, "end", deviceId, contextId, streamId, processId, correlationId
      FROM CUPTI_ACTIVITY_KIND_KERNEL) AS k
LEFT JOIN StringTable AS s ON s._id_ = nullif(k.name, 0);
