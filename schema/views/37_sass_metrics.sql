-- SASS metrics (--source-level-analysis): what each instruction of a kernel did, counted by code that
-- CUPTI adds to it.
--
-- function TEXT: demangled name of the kernel or device function
-- short_name TEXT: name of the function alone
-- mangled_name TEXT: name as the compiler made it
-- pc INTEGER [bytes]: the instruction: how far from the beginning of the function
-- file TEXT: source file as passed to the compiler; NULL = not known (no -lineinfo)
-- line INTEGER: line in it
-- metric TEXT: what was counted, by CUPTI's name without the common part: inst_executed
-- value INTEGER: how much; what is 0 has no row
-- device_id INTEGER: device it ran on
-- correlation_id INTEGER: call that launched the kernel; NULL = of all launches together
-- process_id INTEGER: process of the kernel
CREATE VIEW sass_metrics AS
SELECT coalesce(s.demangled, s.value) AS function,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       s.value AS mangled_name,
       v.pcOffset AS pc,
       f.value AS file,
       l.lineNumber AS line,
       m.metric AS metric,
       v.value AS value,
       v.deviceId AS device_id,
       nullif(v.correlationId, 0) AS correlation_id,
       v.processId AS process_id
FROM (SELECT i.functionId AS functionId, i.pcOffset AS pcOffset,
             i.sourceLocatorId AS sourceLocatorId, i.deviceId AS deviceId, i.processId AS processId,
             w.metricId AS metricId, w.correlationId AS correlationId, CAST(sum(1.0 * w.value) AS BIGINT) AS value
      FROM SASS_VALUE AS w JOIN SASS_INSTRUCTION AS i ON i.id = w.instructionId
      GROUP BY i.processId, i.deviceId, w.correlationId, i.functionId, i.pcOffset,
               i.sourceLocatorId, w.metricId) AS v
JOIN SASS_METRIC AS m ON m.id = v.metricId
LEFT JOIN CUPTI_ACTIVITY_KIND_FUNCTION AS n ON n.id = v.functionId AND n.processId = v.processId
LEFT JOIN StringTable AS s ON s._id_ = nullif(n.name, 0)
LEFT JOIN CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR AS l ON l.id = nullif(v.sourceLocatorId, 0)
LEFT JOIN StringTable AS f ON f._id_ = nullif(l.fileName, 0)
UNION ALL
{types};
