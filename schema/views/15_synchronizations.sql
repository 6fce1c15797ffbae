-- Waits: of the host for an event, stream or context, of a stream for an event.
--
-- type TEXT: event synchronize, stream wait event, stream synchronize or context synchronize
-- start INTEGER [ns]: start on the host, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end on the host, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: from start to end; NULL = not collected
-- context_id INTEGER: context waited for, or that the stream or event was made in
-- stream_id INTEGER: stream waited for, or that waits; NULL = none
-- event_id INTEGER: event waited for, a number that its other waits have too; NULL = none
-- return_value INTEGER: CUresult; 0 = success
-- correlation_id INTEGER: joins api_calls.correlation_id
-- process_id INTEGER: process that waited
CREATE VIEW synchronizations AS
SELECT coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivitySynchronizationType' AND e.value = s.type),
                CAST(s.type AS TEXT)) AS type,
       nullif(s.start, 0) AS start,
       nullif(s."end", 0) AS "end",
       nullif(s."end", 0) - nullif(s.start, 0) AS duration,
       s.contextId AS context_id,
       nullif(s.streamId, 4294967295) AS stream_id,
       nullif(s.cudaEventId, 4294967295) AS event_id,
       s.returnValue AS return_value,
       s.correlationId AS correlation_id,
       s.processId AS process_id
FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS s
UNION ALL
{types};
