-- PC samples (--pc-sampling): at which instruction warps were when the hardware looked, and what
-- they waited for.
--
-- function TEXT: demangled name of the kernel or device function
-- short_name TEXT: name of the function alone
-- mangled_name TEXT: name as the compiler made it
-- pc INTEGER [bytes]: the instruction: how far from the beginning of the function
-- file TEXT: source file as passed to the compiler; NULL = not known (no -lineinfo)
-- line INTEGER: line in it
-- stall_reason TEXT: what the warp waited for, by CUPTI's name without the common part; selected = it
--   went on
-- samples INTEGER [count]: how many
-- not_issued INTEGER [count]: of the samples, those in whose cycle the warp's scheduler issued nothing
-- device_id INTEGER: device it ran on
-- correlation_id INTEGER: call that launched the kernel, with --pc-serialize; NULL = of all launches together
-- process_id INTEGER: process of the kernel
CREATE VIEW pc_samples AS
SELECT coalesce(s.demangled, s.value) AS function,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       s.value AS mangled_name,
       p.pcOffset AS pc,
       f.value AS file,
       l.lineNumber AS line,
       r.reason AS stall_reason,
       p.samples AS samples,
       p.latencySamples AS not_issued,
       p.deviceId AS device_id,
       nullif(p.correlationId, 0) AS correlation_id,
       p.processId AS process_id
FROM (SELECT functionId, pcOffset, sourceLocatorId, stallReasonId, deviceId, correlationId,
             processId, sum(samples) AS samples, sum(latencySamples) AS latencySamples
      FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING
      GROUP BY processId, deviceId, correlationId, functionId, pcOffset, sourceLocatorId,
               stallReasonId) AS p
LEFT JOIN CUPTI_ACTIVITY_KIND_FUNCTION AS n ON n.id = p.functionId AND n.processId = p.processId
LEFT JOIN StringTable AS s ON s._id_ = nullif(n.name, 0)
LEFT JOIN CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR AS l ON l.id = nullif(p.sourceLocatorId, 0)
LEFT JOIN StringTable AS f ON f._id_ = nullif(l.fileName, 0)
LEFT JOIN PC_STALL_REASON AS r ON r.id = p.stallReasonId
UNION ALL
{types};
