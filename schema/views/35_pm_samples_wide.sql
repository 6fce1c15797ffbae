-- What the devices' counters said over time, one row per sample, with the default metrics in columns;
-- NULL = not sampled. pm_samples has all metrics.
--
-- device_id INTEGER: device that was sampled
-- start INTEGER [ns]: when counting for the sample began, on CUPTI's clock
-- end INTEGER [ns]: when it was over, on CUPTI's clock
-- gpu_active REAL [%]: gr__cycles_active: of the time, something ran
-- sm_active REAL [%]: sm__cycles_active: of the multiprocessors' time, a warp was there
-- sm_instructions REAL [%]: sm__inst_executed_realtime: of the most instructions there can be
-- warps_active REAL [%]: sm__warps_active_realtime: of the most warps there can be
-- tensor_active REAL [%]: sm__pipe_tensor_cycles_active: of the tensor units' time
-- dram_read REAL [%]: dram__read_throughput: of the most there can be
-- dram_write REAL [%]: dram__write_throughput: of the most there can be
-- dram_read_rate REAL [bytes/s]: dram__bytes_read, dram__bytes_op_read
-- dram_write_rate REAL [bytes/s]: dram__bytes_write, dram__bytes_op_write
-- l2_hit_rate REAL [%]: lts__average_t_sector_hit_rate_realtime
-- pcie_read_rate REAL [bytes/s]: pcie__read_bytes
-- pcie_write_rate REAL [bytes/s]: pcie__write_bytes
-- gpu_clock REAL [Hz]: gpc__cycles_elapsed
-- nvlink_read_rate REAL [bytes/s]: nvlrx__bytes
-- nvlink_write_rate REAL [bytes/s]: nvltx__bytes
CREATE VIEW pm_samples_wide AS
SELECT device_id,
       start,
       "end",
       max(CASE metric
               WHEN 'gr__cycles_active.avg.pct_of_peak_sustained_elapsed' THEN value
           END) AS gpu_active,
       max(CASE metric
               WHEN 'sm__cycles_active.avg.pct_of_peak_sustained_elapsed' THEN value
           END) AS sm_active,
       max(CASE metric
               WHEN 'sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed' THEN value
           END) AS sm_instructions,
       max(CASE metric
               WHEN 'sm__warps_active_realtime.avg.pct_of_peak_sustained_elapsed' THEN value
           END) AS warps_active,
       max(CASE metric
               WHEN 'sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed'
               THEN value
               WHEN 'sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed' THEN value
           END) AS tensor_active,
       max(CASE metric
               WHEN 'dram__read_throughput.avg.pct_of_peak_sustained_elapsed' THEN value
           END) AS dram_read,
       max(CASE metric
               WHEN 'dram__write_throughput.avg.pct_of_peak_sustained_elapsed' THEN value
           END) AS dram_write,
       max(CASE metric
               WHEN 'dram__bytes_read.sum.per_second' THEN value
               WHEN 'dram__bytes_op_read.sum.per_second' THEN value
           END) AS dram_read_rate,
       max(CASE metric
               WHEN 'dram__bytes_write.sum.per_second' THEN value
               WHEN 'dram__bytes_op_write.sum.per_second' THEN value
           END) AS dram_write_rate,
       max(CASE metric
               WHEN 'lts__average_t_sector_hit_rate_realtime.pct' THEN value
               WHEN 'LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct'
               THEN value
           END) AS l2_hit_rate,
       max(CASE metric
               WHEN 'pcie__read_bytes.sum.per_second' THEN value
           END) AS pcie_read_rate,
       max(CASE metric
               WHEN 'pcie__write_bytes.sum.per_second' THEN value
           END) AS pcie_write_rate,
       max(CASE metric
               WHEN 'gpc__cycles_elapsed.avg.per_second' THEN value
           END) AS gpu_clock,
       max(CASE metric
               WHEN 'nvlrx__bytes.sum.per_second' THEN value
           END) AS nvlink_read_rate,
       max(CASE metric
               WHEN 'nvltx__bytes.sum.per_second' THEN value
           END) AS nvlink_write_rate
FROM pm_samples
GROUP BY device_id, start, "end"
UNION ALL
{types};
