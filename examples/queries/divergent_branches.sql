-- At which source lines do threads of a warp go different ways, and how often (--source-level-analysis branch)?
SELECT short_name, file, line, sum(CASE WHEN metric = 'branch_targets_threads_divergent' THEN value END) AS diverged,
       sum(CASE WHEN metric = 'inst_executed_op_branch' THEN value END) AS branches
FROM sass_metrics
GROUP BY function, file, line, process_id
HAVING diverged > 0
ORDER BY diverged DESC, short_name, line;
