-- What is missing from this file or went wrong. No rows: nothing.
--
-- name: what was counted
-- value: how many
-- severity: data_loss or error
-- kind: table it is missing from; '' = not of one table
-- process_id: process it was counted in; 0 = in gpuprof itself
-- help: what it means, and what to do about it
CREATE VIEW losses AS
SELECT s.name AS name,
       s.value AS value,
       s.severity AS severity,
       s.kind AS kind,
       s.processId AS process_id,
       d.help AS help
FROM STATISTIC AS s
LEFT JOIN STATISTIC_DOC AS d ON d.name = s.name
WHERE s.value > 0 AND s.severity IN ('data_loss', 'error');
