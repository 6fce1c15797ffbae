// Accesses of shared memory that need several cycles.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule bank_conflicts{
    .id = "bank_conflicts",
    .title = "Accesses of shared memory by kernels have bank conflicts",
    .order = 136,
    .needs = {measured("name IN ('shared_efficiency')"), kernel_names, kernels},
    .when =
        "Kernels of which shared_efficiency is below 50 %; of their time the share that is missing "
        "from 100 %",
    .least_share = 0.02,
    .sql = GPUPROF_LOW_EFFICIENCY("'shared_efficiency'", "50"),
    .bound = "If the kernel only used shared memory, it would need the share that is used.",
    .confidence = Confidence::low,
    .reason = accesses_are_a_part,
    .fix =
        "Pad the rows of arrays in shared memory by one element, or swizzle their indices, so "
        "that the threads of a warp use different banks.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#shared-memory-and-memory-banks",
    .mistaken = "Kernels that use shared memory little.",
};

}  // namespace gpuprof::findings
