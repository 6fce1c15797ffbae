-- Kernels with the API call that launched them: the runtime call, or the driver call where there is
-- none. The kernels of a CUDA graph all have the call that launched the graph.
--
-- name TEXT: demangled name of the kernel
-- short_name TEXT: name of the function alone
-- display_name TEXT: as short as is unique within the file, see kernels
-- api_name TEXT: function that was called; NULL = its call was not collected
-- api_domain TEXT: runtime or driver
-- api_start INTEGER [ns]: start of the call on the host, on CUPTI's clock; NULL = not collected
-- api_end INTEGER [ns]: end of the call on the host, on CUPTI's clock; NULL = not collected
-- api_duration INTEGER [ns]: from start to end; NULL = not collected
-- start INTEGER [ns]: start of the kernel on the GPU, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end of the kernel on the GPU, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: of the kernel; NULL = not collected
-- launch_latency INTEGER [ns]: from the start of the call to the start of the kernel
-- queue_delay INTEGER [ns]: from the end of the call to the start of the kernel; below 0 = it began earlier
-- device_id INTEGER: device that ran it
-- context_id INTEGER: context that ran it
-- stream_id INTEGER: stream that ran it
-- correlation_id INTEGER: joins api_calls.correlation_id
-- graph_id INTEGER: executable CUDA graph; 0 = not from a graph
-- thread_id INTEGER: thread that called
-- process_id INTEGER: process that called
-- range_id INTEGER: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL =
--   none
-- range_name TEXT: its message
-- range_path TEXT: messages of the ranges around it and its own, with / between
-- range_match TEXT: thread = it is a range of the calling thread; time = that had none, and this
--   one was the last that was opened in the process and still open
CREATE VIEW launches AS
SELECT k.name AS name,
       k.short_name AS short_name,
       k.display_name AS display_name,
       (SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                 instr(ltrim(n.name, '_') || '_', '_') - 1)
        FROM API_NAME AS n
        WHERE n.domain = CASE WHEN r._id_ IS NOT NULL THEN 'runtime' ELSE 'driver' END
          AND n.cbid = coalesce(r.cbid, d.cbid)) AS api_name,
       CASE WHEN r._id_ IS NOT NULL THEN 'runtime'
            WHEN d._id_ IS NOT NULL THEN 'driver' END AS api_domain,
       nullif(coalesce(r.start, d.start), 0) AS api_start,
       nullif(coalesce(r."end", d."end"), 0) AS api_end,
       nullif(coalesce(r."end", d."end"), 0) - nullif(coalesce(r.start, d.start), 0)
         AS api_duration,
       k.start AS start,
       k."end" AS "end",
       k.duration AS duration,
       k.start - nullif(coalesce(r.start, d.start), 0) AS launch_latency,
       k.start - nullif(coalesce(r."end", d."end"), 0) AS queue_delay,
       k.device_id AS device_id,
       k.context_id AS context_id,
       k.stream_id AS stream_id,
       k.correlation_id AS correlation_id,
       k.graph_id AS graph_id,
       coalesce(r.threadId, d.threadId) AS thread_id,
       k.process_id AS process_id,
       k.range_id AS range_id,
       k.range_name AS range_name,
       k.range_path AS range_path,
       k.range_match AS range_match
FROM kernels AS k
LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
  ON r.correlationId = nullif(k.correlation_id, 0)
LEFT JOIN CUPTI_ACTIVITY_KIND_DRIVER AS d
  ON r._id_ IS NULL AND d.correlationId = nullif(k.correlation_id, 0);
