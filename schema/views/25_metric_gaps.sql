-- Launches and ranges that lack values, and why.
--
-- kind TEXT: kernel, graph or range
-- name TEXT: demangled name of the kernel, or of the range; NULL = not known
-- short_name TEXT: name of the function alone
-- note TEXT: why values are missing
-- measured INTEGER [count]: metrics that it has a value of all the same
-- correlation_id INTEGER: joins kernels.correlation_id; NULL = none
-- device_id INTEGER: device that ran it
-- context_id INTEGER: context that ran it
-- stream_id INTEGER: stream that ran it; NULL = not known
-- process_id INTEGER: process that launched it
-- grid TEXT: blocks of a kernel as text, (x,y,z)
-- block TEXT: threads of a block as text, (x,y,z)
-- ordinal INTEGER: counts the launches of the context from 1; of 'range' the ranges
-- pass_group INTEGER: METRIC_GROUP that was to be measured
CREATE VIEW metric_gaps AS
SELECT r.kind AS kind,
       coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       r.note AS note,
       (SELECT count(*) FROM METRIC_VALUE AS v WHERE v.range = r._id_) AS measured,
       r.correlationId AS correlation_id,
       r.deviceId AS device_id,
       r.contextId AS context_id,
       r.streamId AS stream_id,
       r.processId AS process_id,
       '(' || r.gridX || ',' || r.gridY || ',' || r.gridZ || ')' AS grid,
       '(' || r.blockX || ',' || r.blockY || ',' || r.blockZ || ')' AS block,
       r.ordinal AS ordinal,
       r.passGroup AS pass_group
FROM METRIC_RANGE AS r
LEFT JOIN StringTable AS s ON s._id_ = r.name
WHERE r.note NOT NULL
UNION ALL
{types};
