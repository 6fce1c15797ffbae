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
-- range_path TEXT: messages of the NVTX ranges around that call, with / between; NULL = none
-- collective TEXT: NCCL's operation that it is: 'AllReduce of 4000 bytes'; NULL = none
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
  SELECT processId, node, max(since), stack, correlationId, operation
  FROM NODE_STACK
  GROUP BY processId, node
)
SELECT w.process_id AS process_id,
       w.graph_id AS graph_id,
       w.graph_node_id AS graph_node_id,
       w.type AS type,
       w.name AS name,
       w.count AS count,
       w.total AS total,
       w.total * 1.0 / nullif(g.total, 0) AS graph_share,
       m.stack AS stack_id,
       (SELECT s.line FROM STACK_LINE AS s
        WHERE s.processId = m.processId AND s.stack = m.stack) AS python_line,
       (SELECT s.value FROM LAUNCH_RANGE AS l
        JOIN NVTX_PATH AS p ON p.range = l.range
        JOIN StringTable AS s ON s._id_ = p.path
        WHERE l.correlationId = m.correlationId) AS range_path,
       m.operation AS collective
FROM work AS w
JOIN graphs AS g ON g.process_id = w.process_id AND g.graph_id = w.graph_id
LEFT JOIN made AS m ON m.processId = w.process_id AND m.node = w.graph_node_id
UNION ALL
{types};
