-- NVTX ranges with both ends in one row.
--
-- name TEXT: message; NULL = none
-- domain TEXT: NVTX domain; NULL = the default domain
-- start INTEGER [ns]: when it was opened, on CUPTI's clock
-- end INTEGER [ns]: when it was closed, on CUPTI's clock; NULL = never
-- duration INTEGER [ns]: from start to end; NULL = never closed
-- kind TEXT: push_pop or start_end
-- depth INTEGER: push/pop ranges of its thread and domain around it; NULL for start_end
-- id INTEGER: the range
-- parent INTEGER: id of the innermost of those; NULL = none
-- payload_int INTEGER: payload that is a whole number, else NULL
-- payload_double REAL: payload that is a floating-point number, else NULL
-- color INTEGER: 0xAARRGGBB; NULL = none
-- category INTEGER: category number; NULL or 0 = none
-- thread_id INTEGER: thread that opened it
-- process_id INTEGER: process that opened it
CREATE VIEW nvtx_ranges AS
SELECT n.value AS name,
       d.value AS domain,
       r.start AS start,
       r.stop AS "end",
       r.stop - r.start AS duration,
       r.kind AS kind,
       r.depth AS depth,
       r._id_ AS id,
       r.parent AS parent,
       r.payloadInt AS payload_int,
       r.payloadDouble AS payload_double,
       r.color AS color,
       r.category AS category,
       r.threadId AS thread_id,
       r.processId AS process_id
FROM NVTX_RANGE AS r
LEFT JOIN StringTable AS n ON n._id_ = nullif(r.name, 0)
LEFT JOIN StringTable AS d ON d._id_ = nullif(r.domain, 0);
