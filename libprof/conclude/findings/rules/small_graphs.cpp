// Graphs of CUDA with few nodes.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule small_graphs{
    .id = "small_graphs",
    .title = "Graphs have so few nodes that launching them takes as long",
    .order = 27,
    .needs = {names_of_calls, kernels},
    .when =
        "Idle time while graphs are launched that have fewer than five kernels on average, where "
        "graphs are recorded by node",
    .least_share = 0.01,
    .sql = R"(  SELECT a.device, a.part, a.ns, a.count, NULL AS first, NULL AS last,
         substr(n.name, 1, instr(n.name || '_', '_') - 1) AS what
  FROM account AS a
  JOIN API_NAME AS n ON n.domain = a.domain AND n.cbid = a.cause
  WHERE a.part = 'launch' AND n.name GLOB 'cu*GraphLaunch*'
    AND (SELECT g.kernels < 5 * g.launches
         FROM graph_launches AS g
         WHERE g.device = a.device))",
    .bound = "If these graphs were parts of larger ones, only the launches of those would be left.",
    .mends = simulate::short_gaps,
    .confidence = Confidence::medium,
    .reason =
        "Whether the host has something to do between them that cannot be in a graph is not "
        "recorded.",
    .fix =
        "Capture more at once: the whole step in one graph (torch.cuda.CUDAGraph, "
        "make_graphed_callables, torch.compile without graph breaks).",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-graphs",
    .mistaken = "Graphs of a few long kernels, which hide the next launch.",
};

}  // namespace gpuprof::findings
