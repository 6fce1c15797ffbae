-- Which nodes of CUDA graphs took the time, and which line, NVTX range and collective is each of?
SELECT process_id, graph_id, graph_node_id, name, count, total / 1e3 AS total_us,
       100.0 * graph_share AS percent_of_graph, python_line AS made_in, range_path AS made_in_range,
       collective
FROM graph_nodes
ORDER BY total DESC, graph_id, graph_node_id;
