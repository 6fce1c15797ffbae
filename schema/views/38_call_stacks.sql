-- Functions of the host that calls came from, of Python, and with --stacks of libraries that called for
-- memory; one row per function of a call. gpuprof memory --by stack and gpuprof lines add them up.
--
-- correlation_id INTEGER: joins api_calls.correlation_id and allocations.correlation_id
-- process_id INTEGER: process
-- stack INTEGER: number of the stack: the same for calls that came the same way
-- position INTEGER: 0 = the innermost function, next who called it
-- function TEXT: symbol, mangled; of Python the qualified name; NULL = the module has none for it
-- module TEXT: path of the program or library, of Python the file; NULL = code of no file
-- offset INTEGER [bytes]: the call, as the symbols of the module count; addr2line -e takes it; NULL = of Python
-- line INTEGER: line of the call; NULL = not of Python, or not known
CREATE VIEW call_stacks AS
SELECT c.correlationId AS correlation_id,
       c.processId AS process_id,
       c.stack AS stack,
       e.position AS position,
       f.function AS function,
       f.module AS module,
       f.offset AS offset,
       f.line AS line
FROM CALL_STACK AS c
JOIN STACK_ENTRY AS e ON e.stack = c.stack AND e.processId = c.processId
JOIN STACK_FRAME AS f ON f.frame = e.frame AND f.processId = e.processId
UNION ALL
{types};
