-- Which nodes of CUDA graphs took the time, and which line of Python made each?
SELECT process_id, graph_id, graph_node_id, name, count, total / 1e3 AS total_us,
       100.0 * graph_share AS percent_of_graph, python_line AS made_in
FROM graph_nodes
ORDER BY total DESC, graph_id, graph_node_id;
