-- Times in which the counters of a device were not sampled, between samples that there are.
--
-- device_id INTEGER: the device
-- start INTEGER [ns]: when the last sample before was over, on CUPTI's clock
-- end INTEGER [ns]: when the next one began, on CUPTI's clock; NULL = there was none
-- duration INTEGER [ns]: from start to end; NULL = the end is not known
-- reason TEXT: overflow = the GPU's buffer for samples was full; missing = CUPTI delivered none
-- t_ms REAL [ms]: start, from the first of the run on
CREATE VIEW pm_gaps AS
SELECT deviceId AS device_id,
       start,
       stop AS "end",
       stop - start AS duration,
       reason,
       (start - {zero}) / 1e6 AS t_ms
FROM PM_GAP
UNION ALL
{types};
