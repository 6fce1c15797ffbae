-- Which source lines take more wavefronts of shared memory than they would without bank conflicts (--source-level-analysis shared_access)?
SELECT short_name, file, line, wavefronts, ideal, round(1.0 * wavefronts / ideal, 2) AS times_ideal
FROM (SELECT short_name, file, line, sum(CASE WHEN metric = 'l1tex_pipe_lsu_wavefronts_mem_shared' THEN value END) AS wavefronts,
             sum(CASE WHEN metric = 'l1tex_pipe_lsu_wavefronts_mem_shared_ideal' THEN value END) AS ideal
      FROM sass_metrics GROUP BY function, file, line, process_id)
WHERE wavefronts > ideal
ORDER BY wavefronts - ideal DESC, short_name, line;
