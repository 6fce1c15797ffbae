-- What is missing from this file? One row "nothing" when it is complete.
SELECT name, value, kind, process_id, help
FROM losses
UNION ALL
SELECT 'nothing', 0, '', NULL, NULL
WHERE NOT EXISTS (SELECT 1 FROM losses)
ORDER BY value DESC;
