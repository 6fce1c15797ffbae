-- Waits: of the host for an event, stream or context, of a stream for an event.
--
-- type: event synchronize, stream wait event, stream synchronize or context synchronize
-- start: start on the host, ns on CUPTI's clock; NULL = not collected
-- end: end on the host, ns on CUPTI's clock; NULL = not collected
-- duration: ns; NULL = not collected
-- context_id: context waited for, or that the stream or event was made in
-- stream_id: stream waited for, or that waits; NULL = none
-- event_id: event waited for; NULL = none
-- return_value: CUresult; 0 = success
-- correlation_id: joins api_calls.correlation_id
-- process_id: process that waited
CREATE VIEW synchronizations AS
SELECT coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivitySynchronizationType' AND e.value = s.type),
                s.type) AS type,
       nullif(s.start, 0) AS start,
       nullif(s."end", 0) AS "end",
       nullif(s."end", 0) - nullif(s.start, 0) AS duration,
       s.contextId AS context_id,
       nullif(s.streamId, 4294967295) AS stream_id,
       nullif(s.cudaEventId, 4294967295) AS event_id,
       s.returnValue AS return_value,
       s.correlationId AS correlation_id,
       s.processId AS process_id
FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS s;
