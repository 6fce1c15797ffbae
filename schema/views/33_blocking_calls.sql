-- Calls in which the host waited for the GPU: synchronizations, and copies that are
-- not asynchronous.
--
-- name TEXT: function, the runtime's where it was one; NULL = not collected
-- waits_for TEXT: event, stream, context or copy
-- start INTEGER [ns]: start of the call on the host, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: its end, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: how long the call took; NULL = not collected
-- bytes INTEGER [bytes]: how much was copied; NULL = it was a synchronization
-- correlation_id INTEGER: joins api_calls.correlation_id
-- thread_id INTEGER: thread that waited
-- process_id INTEGER: process that waited
CREATE VIEW blocking_calls AS
SELECT (SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                 instr(ltrim(n.name, '_') || '_', '_') - 1)
        FROM API_NAME AS n
        WHERE n.domain = CASE WHEN r._id_ IS NOT NULL THEN 'runtime' ELSE 'driver' END
          AND n.cbid = coalesce(r.cbid, d.cbid)) AS name,
       w.waits_for AS waits_for,
       nullif(coalesce(r.start, d.start, w.start), 0) AS start,
       nullif(coalesce(r."end", d."end", w."end"), 0) AS "end",
       nullif(coalesce(r."end", d."end", w."end"), 0) -
         nullif(coalesce(r.start, d.start, w.start), 0) AS duration,
       w.bytes AS bytes,
       w.correlationId AS correlation_id,
       coalesce(r.threadId, d.threadId) AS thread_id,
       w.processId AS process_id
FROM (SELECT processId, correlationId, min(waits_for) AS waits_for, sum(bytes) AS bytes,
             min(start) AS start, max("end") AS "end"
      FROM (SELECT processId, correlationId,
                   CASE type WHEN 1 THEN 'event' WHEN 3 THEN 'stream' ELSE 'context' END
                     AS waits_for,
                   NULL AS bytes, nullif(start, 0) AS start, nullif("end", 0) AS "end"
            FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
            WHERE type IN (1, 3, 4)
            UNION ALL
            SELECT processId, correlationId, 'copy', bytes, NULL, NULL
            FROM CUPTI_ACTIVITY_KIND_MEMCPY
            WHERE NOT flags & 1 AND graphId = 0
            UNION ALL
            SELECT processId, correlationId, 'copy', bytes, NULL, NULL
            FROM CUPTI_ACTIVITY_KIND_MEMCPY2
            WHERE NOT flags & 1 AND graphId = 0)
      GROUP BY processId, correlationId) AS w
LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = nullif(w.correlationId, 0)
LEFT JOIN CUPTI_ACTIVITY_KIND_DRIVER AS d
  ON r._id_ IS NULL AND d.correlationId = nullif(w.correlationId, 0)
UNION ALL
{types};
