-- Calls of the CUDA API. A runtime call makes driver calls, which have its correlation id. Functions
-- that only ask are left out by default: RUN's calls_left_out names them.
--
-- domain TEXT: runtime, driver, or internal for launches that went through no public API
-- name TEXT: function, without suffixes such as _v3020 and _ptsz
-- start INTEGER [ns]: start on the host, on CUPTI's clock; NULL = not collected
-- end INTEGER [ns]: end on the host, on CUPTI's clock; NULL = not collected
-- duration INTEGER [ns]: from start to end; NULL = not collected
-- correlation_id INTEGER: joins the GPU work it asked for
-- return_value INTEGER: cudaError_t of a runtime call, CUresult of a driver call; 0 = success
-- cbid INTEGER: CUPTI's number of the function
-- thread_id INTEGER: thread that called
-- process_id INTEGER: process that called
CREATE VIEW api_calls AS
SELECT a.domain AS domain,
       CASE WHEN a.domain = 'internal' THEN 'internal launch'
            ELSE coalesce((SELECT substr(n.name, 1, length(n.name) - length(ltrim(n.name, '_')) +
                                                    instr(ltrim(n.name, '_') || '_', '_') - 1)
                           FROM API_NAME AS n WHERE n.domain = a.domain AND n.cbid = a.cbid),
                          a.domain || ' function ' || a.cbid)
       END AS name,
       nullif(a.start, 0) AS start,
       nullif(a."end", 0) AS "end",
       nullif(a."end", 0) - nullif(a.start, 0) AS duration,
       a.correlationId AS correlation_id,
       a.returnValue AS return_value,
       a.cbid AS cbid,
       a.threadId AS thread_id,
       a.processId AS process_id{stacks a}
FROM ({api_calls}) AS a;
