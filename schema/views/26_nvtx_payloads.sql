-- Fields of NVTX payloads that have a layout, NCCL's among them: one row per field of a mark or range.
--
-- range_name TEXT: message of the mark or range; NULL = none
-- domain TEXT: NVTX domain; NULL = the default domain
-- time INTEGER [ns]: when it was made or opened, on CUPTI's clock
-- schema TEXT: name of the layout; '' = none
-- field TEXT: name of the field; a.b = b inside a, a[2] = an element; '' = no layout
-- value ANY: a number or a text; of an enum its name where it has one
-- int_value INTEGER: a whole number, or that of an enum's name; else NULL
-- thread_id INTEGER: thread that made or opened it
-- process_id INTEGER: process that did
CREATE VIEW nvtx_payloads AS
SELECT n.value AS range_name,
       d.value AS domain,
       m.timestamp AS time,
       p.schema AS schema,
       p.field AS field,
       coalesce(p.textValue, p.intValue, p.realValue) AS value,
       p.intValue AS int_value,
       m.threadId AS thread_id,
       p.processId AS process_id
FROM NVTX_PAYLOAD AS p
LEFT JOIN CUPTI_ACTIVITY_KIND_MARKER AS m
  ON m.id = p.id AND m.processId = p.processId AND NOT m.flags & 4
LEFT JOIN StringTable AS n ON n._id_ = nullif(m.name, 0)
LEFT JOIN StringTable AS d ON d._id_ = nullif(m.domain, 0);
