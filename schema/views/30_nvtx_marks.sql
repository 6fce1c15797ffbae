-- NVTX marks: points in time that the program named.
--
-- name TEXT: message; NULL = none
-- domain TEXT: NVTX domain; NULL = the default domain
-- time INTEGER [ns]: when it was made, on CUPTI's clock
-- payload_int INTEGER: payload that is a whole number, else NULL
-- payload_double REAL: payload that is a floating-point number, else NULL
-- color INTEGER: 0xAARRGGBB; NULL = none
-- category INTEGER: category number; NULL or 0 = none
-- thread_id INTEGER: thread that made it
-- process_id INTEGER: process that made it
CREATE VIEW nvtx_marks AS
SELECT n.value AS name,
       d.value AS domain,
       m.timestamp AS time,
       p.payloadInt AS payload_int,
       p.payloadDouble AS payload_double,
       p.color AS color,
       p.category AS category,
       m.threadId AS thread_id,
       m.processId AS process_id
FROM CUPTI_ACTIVITY_KIND_MARKER AS m
LEFT JOIN CUPTI_ACTIVITY_KIND_MARKER_DATA AS p ON p.id = m.id AND p.processId = m.processId
LEFT JOIN StringTable AS n ON n._id_ = nullif(m.name, 0)
LEFT JOIN StringTable AS d ON d._id_ = nullif(m.domain, 0)
WHERE m.flags & 1;
