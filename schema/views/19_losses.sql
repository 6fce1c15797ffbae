-- What is missing from this file or went wrong. No rows: nothing.
--
-- name TEXT: what was counted
-- value INTEGER: how many
-- severity TEXT: data_loss or error
-- kind TEXT: table it is missing from; '' = not of one table
-- process_id INTEGER: process it was counted in; 0 = in gpuprof itself
-- help TEXT: what it means, and what to do about it
-- reason TEXT: why, the first that DIAGNOSTIC has of it; NULL = it does not say
CREATE VIEW losses AS
SELECT s.name AS name,
       s.value AS value,
       s.severity AS severity,
       s.kind AS kind,
       s.processId AS process_id,
       d.help AS help,
       (SELECT g.text
        FROM DIAGNOSTIC AS g
        WHERE g.statistic = s.name AND g.processId = s.processId
        ORDER BY g.rowid
        LIMIT 1) AS reason
FROM STATISTIC AS s
LEFT JOIN STATISTIC_DOC AS d ON d.name = s.name
WHERE s.value > 0 AND s.severity IN ('data_loss', 'error')
UNION ALL
{types};
