// Schedulers that issue nothing for want of a warp that can go on, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule latency_bound{
    .id = "latency_bound",
    .title = "Kernels wait: schedulers have no warp that can go on",
    .order = 138,
    .needs = {measured("name = 'issue_slot_utilization'"), kernel_names, kernels},
    .when =
        "Kernels of which issue_slot_utilization is below 60 %; of their time the share of slots "
        "that are not used",
    .least_share = 0.05,
    .sql = GPUPROF_LOW_EFFICIENCY("'issue_slot_utilization'", "60"),
    .bound =
        "If an instruction were issued in each slot, the kernel would need the share that is used.",
    .confidence = Confidence::low,
    .reason = "A kernel whose memory or arithmetic units are busy all the time cannot issue more.",
    .fix =
        "Find out what warps wait for: gpuprof --pc-sampling. More warps, more independent work "
        "for each thread, and loads before they are needed help.",
    .link = about_warp_states,
    .mistaken =
        "Kernels that use all of the bandwidth of memory, and matrix products of tensor cores, of "
        "which few instructions do much.",
};

}  // namespace gpuprof::findings
