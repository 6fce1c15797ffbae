-- Which source lines do the GPU's warps execute most instructions of, and with how many of their threads (--source-level-analysis)?
SELECT short_name, file, line, sum(CASE WHEN metric = 'inst_executed' THEN value END) AS instructions,
       round(1.0 * sum(CASE WHEN metric = 'thread_inst_executed' THEN value END)
             / sum(CASE WHEN metric = 'inst_executed' THEN value END), 2) AS threads_of_32
FROM sass_metrics
GROUP BY function, file, line, process_id
HAVING instructions > 0
ORDER BY instructions DESC, short_name, line;
