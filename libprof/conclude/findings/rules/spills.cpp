// Kernels whose threads use local memory.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule spills{
    .id = "spills",
    .title = "Kernels use local memory, as they do where registers do not suffice",
    .order = 140,
    .needs = {kernels},
    .when = "Kernels with local memory per thread",
    .least_share = 0.05,
    .sql =
        R"(  SELECT device, 'compute' AS part, sum(ns) AS ns, sum(count) AS count, min(first) AS first,
         max(last) AS last, name AS what
  FROM kernel_launches
  WHERE local_memory > 0
  GROUP BY device, name)",
    .bound = "It is all the time of these kernels: how much of it is local memory's takes metrics.",
    .confidence = Confidence::low,
    .reason =
        "How often the local memory is used is not recorded. For a kernel that spilled, CUPTI 13.5 "
        "said 0 "
        "bytes on an H100: no finding does not mean that nothing spills; local_traffic measures "
        "it.",
    .fix =
        "Compile with -Xptxas -v, which prints spills: more registers (__launch_bounds__, "
        "--maxrregcount), less unrolling, arrays with constant indices.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#local-memory",
    .mistaken =
        "Local memory that is hardly used, as that of printf, assertions and slow paths of "
        "math functions.",
};

}  // namespace gpuprof::findings
