-- Which source lines take more sectors of global memory than they would if threads' addresses lay side by side (--source-level-analysis global_access)?
SELECT short_name, file, line, sectors, ideal, round(1.0 * sectors / ideal, 2) AS times_ideal
FROM (SELECT short_name, file, line, sum(CASE WHEN metric = 'sectors_mem_global' THEN value END) AS sectors,
             sum(CASE WHEN metric = 'sectors_mem_global_ideal' THEN value END) AS ideal
      FROM sass_metrics GROUP BY function, file, line, process_id)
WHERE sectors > ideal
ORDER BY sectors - ideal DESC, short_name, line;
