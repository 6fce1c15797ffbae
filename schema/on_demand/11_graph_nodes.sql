-- Nodes of CUDA graphs that did work, one row per node of a graph that was launched.
--
-- process_id INTEGER: process that launched it
-- graph_id INTEGER: executable CUDA graph
-- graph_node_id INTEGER: node of that graph
-- type TEXT: kernel, memcpy, ...
-- name TEXT: name of the kernel, or what it did
-- count INTEGER [count]: how often it ran
-- total INTEGER [ns]: sum of its durations
-- graph_share REAL [share]: of the durations of all nodes of its graph, from 0 to 1
-- stack_id INTEGER: stack of the call that made it, of an updated node the last: joins
--   call_stacks.stack of the process; NULL = not known
-- python_line TEXT: FILE:LINE of that stack's innermost function in the program's own files, or else
--   of all; NULL = not known
CREATE VIEW graph_nodes AS
WITH work AS (
  SELECT process_id, graph_id, graph_node_id, min(type) AS type, min(name) AS name,
         count(*) AS count, sum(duration) AS total
  FROM gpu_activities
  WHERE graph_node_id != 0
  GROUP BY 1, 2, 3
), graphs AS (
  SELECT process_id, graph_id, sum(total) AS total FROM work GROUP BY 1, 2
), made AS (
  SELECT w.*, (SELECT n.stack FROM NODE_STACK AS n
               WHERE n.processId = w.process_id AND n.node = w.graph_node_id
               ORDER BY n.since DESC LIMIT 1) AS stack
  FROM work AS w
)
SELECT m.process_id AS process_id,
       m.graph_id AS graph_id,
       m.graph_node_id AS graph_node_id,
       m.type AS type,
       m.name AS name,
       m.count AS count,
       m.total AS total,
       m.total * 1.0 / nullif(g.total, 0) AS graph_share,
       m.stack AS stack_id,
       (SELECT s.line FROM STACK_LINE AS s
        WHERE s.processId = m.process_id AND s.stack = m.stack) AS python_line
FROM made AS m JOIN graphs AS g ON g.process_id = m.process_id AND g.graph_id = m.graph_id
UNION ALL
{types};
