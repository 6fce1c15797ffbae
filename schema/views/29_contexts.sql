-- CUDA contexts, one row each.
--
-- name TEXT: name that the program gave it through NVTX; NULL = none
-- is_green INTEGER: 1 = a green context, which has a part of the device
-- multiprocessors INTEGER [count]: multiprocessors (SM) of a green context; NULL = all of the
--   device
-- partition TEXT: TPCs of a green context, a mask in hexadecimal, lowest byte first
-- parent_id INTEGER: context it was made from; 0 = none
-- default_stream_id INTEGER: its default stream
-- streams INTEGER [count]: streams that were made in it or had work
-- kernels INTEGER [count]: kernels that ran in it
-- copies INTEGER [count]: memory copies and sets that ran in it
-- work_time INTEGER [ns]: sum of their durations; work that overlaps counts more than once
-- first INTEGER [ns]: start of the first of them, on CUPTI's clock; NULL = none with times
-- last INTEGER [ns]: end of the last of them, on CUPTI's clock; NULL = none with times
-- device_id INTEGER: its device
-- context_id INTEGER: the context
-- process_id INTEGER: its process
CREATE VIEW contexts AS
SELECT (SELECT s.value FROM CUPTI_ACTIVITY_KIND_NAME AS n JOIN StringTable AS s ON s._id_ = n.name
        WHERE n.objectKind = 4 AND n.objectContextId = c.contextId AND n.processId = c.processId
        ORDER BY n._id_ DESC LIMIT 1) AS name,
       is_green,
       nullif(is_green * numMultiprocessors, 0) AS multiprocessors,
       partition,
       parentContextId AS parent_id,
       stream AS default_stream_id,
       count(t.stream_id) AS streams,
       coalesce(sum(t.kernels), 0) AS kernels,
       coalesce(sum(t.copies), 0) AS copies,
       coalesce(sum(t.work_time), 0) AS work_time,
       min(t.first) AS first,
       max(t.last) AS last,
       deviceId AS device_id,
       contextId AS context_id,
       processId AS process_id
FROM (SELECT contextId, deviceId, processId, parentContextId, numMultiprocessors,
             coalesce(isGreenContext, 0) AS is_green, nullStreamId AS stream, NULL AS partition
      FROM CUPTI_ACTIVITY_KIND_CONTEXT
      UNION
      SELECT contextId, deviceId, processId, parentContextId, numMultiprocessors, 1, NULL,
             substr(hex(logicalTpcMask), 1, 8 * logicalTpcMaskSize)
      FROM CUPTI_ACTIVITY_KIND_GREEN_CONTEXT) AS c
LEFT JOIN streams AS t ON context_id = contextId AND process_id = processId
GROUP BY 1, 2, 3, 4, 5, 6, 13, 14, 15
UNION ALL
{types};
