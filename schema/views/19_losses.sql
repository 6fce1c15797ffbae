-- What is missing from this file or went wrong. No rows: nothing.
--
-- name: what was counted
-- value: how many
-- severity: data_loss or error
-- kind: table it is missing from; '' = not of one table
-- process_id: process it was counted in; 0 = in gpuprof itself
-- help: what it means, and what to do about it
-- reason: why, the first that DIAGNOSTIC has of it; NULL = it does not say
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
WHERE s.value > 0 AND s.severity IN ('data_loss', 'error');
