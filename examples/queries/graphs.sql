-- Which nodes of CUDA graphs took the time, and which line of Python made each?
WITH RECURSIVE
-- Instantiating a graph clones its nodes: each node, and what it is a clone of.
origins(process_id, node, origin, clones) AS (
  SELECT processId, node, node, 0 FROM GRAPH_NODE
  UNION ALL
  SELECT o.process_id, o.node, g.source, o.clones + 1
  FROM origins AS o JOIN GRAPH_NODE AS g ON g.processId = o.process_id AND g.node = o.origin
  WHERE g.source IS NOT NULL AND o.clones < 8
),
made AS (
  SELECT o.process_id, o.node, min(g.correlationId) AS correlation_id
  FROM origins AS o JOIN GRAPH_NODE AS g ON g.processId = o.process_id AND g.node = o.origin
  WHERE g.source IS NULL
  GROUP BY 1, 2
),
-- Of each stack the innermost function of the program's own files, or else of all.
lines AS (
  SELECT e.processId AS process_id, e.stack, f.module || coalesce(':' || f.line, '') AS line,
         row_number() OVER (PARTITION BY e.processId, e.stack
                            ORDER BY f.module LIKE '%/site-packages/%'
                                  OR f.module LIKE '%/dist-packages/%'
                                  OR f.module LIKE '%/lib/python3.%' OR f.module LIKE '<%',
                                     e.position) AS place
  FROM STACK_ENTRY AS e JOIN STACK_FRAME AS f ON f.frame = e.frame AND f.processId = e.processId
  WHERE f.offset IS NULL
),
work AS (
  SELECT process_id, graph_id, graph_node_id, min(name) AS name, count(*) AS count,
         sum(duration) AS ns
  FROM gpu_activities
  WHERE graph_node_id != 0
  GROUP BY 1, 2, 3
)
SELECT w.process_id, w.graph_id, w.graph_node_id, w.name, w.count, w.ns / 1e3 AS total_us,
       100.0 * w.ns / sum(w.ns) OVER (PARTITION BY w.process_id, w.graph_id) AS percent_of_graph,
       l.line AS made_in
FROM work AS w
LEFT JOIN made AS m ON m.process_id = w.process_id AND m.node = w.graph_node_id
LEFT JOIN CALL_STACK AS c ON c.correlationId = m.correlation_id AND c.processId = m.process_id
LEFT JOIN lines AS l ON l.process_id = c.processId AND l.stack = c.stack AND l.place = 1
ORDER BY w.ns DESC, w.graph_id, w.graph_node_id;
