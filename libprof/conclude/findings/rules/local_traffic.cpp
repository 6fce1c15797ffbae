// Accesses of local memory, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule local_traffic{
    .id = "local_traffic",
    .title = "Much of what kernels access is local memory",
    .order = 132,
    .needs = {{.table = "METRIC",
               .otherwise = "--metrics "
                            "gld_transactions,gst_transactions,local_load_transactions,"
                            "local_store_transactions would measure accesses of local memory.",
               .rows = true,
               .where = "name GLOB 'local_*_transactions'"},
              kernel_names,
              kernels},
    .when =
        "Kernels of which more than 5 % of the transactions are of local memory "
        "(local_load_transactions, local_store_transactions, gld_transactions, "
        "gst_transactions); that share of their time",
    .least_share = 0.02,
    .sql = GPUPROF_PART_OF("'local_load_transactions', 'local_store_transactions'",
                           "'gld_transactions', 'gst_transactions'", "5"),
    .bound = "If the kernel only accessed memory, without these accesses it would need the rest.",
    .confidence = Confidence::low,
    .reason = accesses_are_a_part,
    .fix =
        "Compile with -Xptxas -v, which prints spills: more registers (__launch_bounds__, "
        "--maxrregcount), less unrolling, arrays with constant indices.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#local-memory",
    .mistaken = "Local memory that stays in the L1 cache, where it is as fast as shared memory.",
};

}  // namespace gpuprof::findings
