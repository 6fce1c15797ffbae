// Accesses of global memory that use little of what they move.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule scattered_accesses{
    .id = "scattered_accesses",
    .title = "Kernels use less than half of the bytes that their accesses move",
    .order = 135,
    .needs = {measured("name IN ('gld_efficiency', 'gst_efficiency')"), kernel_names, kernels},
    .when =
        "Kernels of which gld_efficiency or gst_efficiency is below 50 %; of their time the "
        "share that is missing from 100 %",
    .least_share = 0.02,
    .sql = GPUPROF_LOW_EFFICIENCY("'gld_efficiency', 'gst_efficiency'", "50"),
    .bound = "If the kernel only moved bytes, it would need the share that is used.",
    .confidence = Confidence::low,
    .reason = accesses_are_a_part,
    .fix =
        "Let neighbouring threads access neighbouring addresses: structures of arrays, "
        "transposing in shared memory, rows of a multiple of 32 bytes.",
    .link =
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/"
        "#coalesced-access-to-global-memory",
    .mistaken =
        "Gathering from random places, which has no better order; kernels that compute much for "
        "each byte.",
};

}  // namespace gpuprof::findings
