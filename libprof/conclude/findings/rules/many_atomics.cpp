// Atomics in the L2 cache, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule many_atomics{
    .id = "many_atomics",
    .title = "Atomics are much of what kernels do in the L2 cache",
    .order = 133,
    .needs = {{.table = "METRIC",
               .otherwise = "--metrics "
                            "l2_atomic_transactions,l2_read_transactions,l2_write_transactions "
                            "would measure atomics.",
               .rows = true,
               .where = "name = 'l2_atomic_transactions'"},
              kernel_names,
              kernels},
    .when =
        "Kernels of which more than 20 % of the sectors in the L2 cache are of atomics and "
        "reductions (l2_atomic_transactions of l2_read_transactions and "
        "l2_write_transactions, which contain them); that share of their time",
    .least_share = 0.02,
    .sql = R"(  WITH atomics AS (
    SELECT device, function,
           sum(CASE metric WHEN 'l2_atomic_transactions' THEN value END) /
             sum(CASE WHEN metric <> 'l2_atomic_transactions' THEN value END) AS share
    FROM measured
    WHERE metric IN ('l2_atomic_transactions', 'l2_read_transactions', 'l2_write_transactions')
    GROUP BY device, function)
  SELECT k.device, 'compute' AS part, sum(CAST(k.ns * min(m.share, 1.0) AS INTEGER)) AS ns,
)" GPUPROF_OF_MEASURED_KERNELS("atomics") R"(  WHERE m.share > 0.2
  GROUP BY k.device, k.name)",
    .bound = "If the kernel only accessed the L2 cache, without atomics it would need the rest.",
    .confidence = Confidence::low,
    .reason = "Atomics of one address wait for one another, and then take more than their share.",
    .fix =
        "Add up in registers, in a warp (__reduce_add_sync, cub::WarpReduce) and in shared memory "
        "first, so that a block needs one atomic; scatter to several copies.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#atomic-functions",
    .mistaken = "Histograms of many bins, whose atomics are rarely of the same address.",
};

}  // namespace gpuprof::findings
