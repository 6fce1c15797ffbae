-- What the devices' counters said over time (--pm-sampling), one row per sample and metric. PM_SAMPLE
-- has the metrics of a sample side by side.
--
-- device_id INTEGER: device that was sampled
-- start INTEGER [ns]: when counting for the sample began, on CUPTI's clock
-- end INTEGER [ns]: when it was over, on CUPTI's clock
-- metric TEXT: name of the metric
-- unit TEXT: unit of the value; NULL = a plain number
-- value REAL: of the time from start to end
-- t_ms REAL [ms]: start, from the first of the run on
CREATE VIEW pm_samples AS
SELECT *
FROM (SELECT s.deviceId AS device_id,
             s.start AS start,
             s.stop AS "end",
             m.name AS metric,
             m.unit AS unit,
             CASE m.place
                 WHEN 1 THEN s.v1 WHEN 2 THEN s.v2 WHEN 3 THEN s.v3 WHEN 4 THEN s.v4
                 WHEN 5 THEN s.v5 WHEN 6 THEN s.v6 WHEN 7 THEN s.v7 WHEN 8 THEN s.v8
                 WHEN 9 THEN s.v9 WHEN 10 THEN s.v10 WHEN 11 THEN s.v11 WHEN 12 THEN s.v12
                 WHEN 13 THEN s.v13 WHEN 14 THEN s.v14 WHEN 15 THEN s.v15 WHEN 16 THEN s.v16
             END AS value,
             (s.start - {zero}) / 1e6 AS t_ms
      FROM PM_SAMPLE AS s
      JOIN PM_METRIC AS m ON m.part = s.part)
WHERE value IS NOT NULL;
