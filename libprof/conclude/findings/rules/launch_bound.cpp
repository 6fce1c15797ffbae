// Gaps so short that only launching can fill them.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule launch_bound{
    .id = "launch_bound",
    .title = "The host launches work more slowly than the GPU does it",
    .order = 40,
    .needs = {gaps, device_times, calls},
    .when =
        "Gaps of at most 50 us that did not begin while the host waited for the GPU, without the "
        "time in which the work after the gap was launched already",
    .least_share = 0.10,
    .sql = R"(  SELECT a.device, a.part,
         sum(a.ns) - coalesce(
           (SELECT sum(max(0, CASE a.part WHEN 'no call' THEN g.no_call
                                          WHEN 'launch' THEN g.launch
                                          ELSE g.length - g.no_call - g.launch - g.queued END -
                              (g.length - (g.last - g.first))))
            FROM gaps AS g
            WHERE g.device = a.device AND a.part <> 'short gap'
              AND (g.after_wait OR g.length > 50000)), 0) AS ns,
         CASE a.part WHEN 'short gap' THEN sum(a.count)
                     ELSE (SELECT count(*) FROM gaps AS g
                           WHERE g.device = a.device AND NOT g.after_wait AND g.length <= 50000)
         END AS count,
         NULL AS first, NULL AS last,
         (SELECT g.what FROM gaps AS g
          WHERE g.device = a.device AND NOT g.after_wait AND g.length <= 50000
          GROUP BY g.what ORDER BY sum(g.length) DESC, g.what LIMIT 1) AS what
  FROM account AS a
  WHERE a.part IN ('launch', 'call', 'no call', 'short gap')
    AND (SELECT count(*) < 10000 OR min(stop - start) <= 50000 FROM GPU_GAP
         WHERE deviceId = a.device)
  GROUP BY a.device, a.part)",
    .bound =
        "If launching took no time, these gaps would not be there. They are the idle time "
        "without that of longer gaps and of gaps after a wait.",
    .mends = simulate::short_gaps,
    .confidence = Confidence::high,
    .reason = "A launch and what the host does until the next one fill a gap that is so short.",
    .fix =
        "Launch less: CUDA graphs (torch.compile with mode='reduce-overhead'), fused kernels "
        "(torch.compile, foreach and fused optimizers), larger batches.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-graphs",
    .mistaken = "A server that has little to do: then its GPU may be idle.",
};

}  // namespace gpuprof::findings
