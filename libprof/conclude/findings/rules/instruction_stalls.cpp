// Warps that wait for their instructions, by PC samples.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule instruction_stalls{
    .id = "instruction_stalls",
    .title = "Warps of kernels wait for instructions or constants to be fetched",
    .order = 148,
    .needs = {stall_samples, kernel_names, kernels},
    .when =
        "Kernels in which more than 10 % of the PC samples are of warps that wait until an "
        "instruction or an immediate constant is fetched and whose scheduler issues nothing; that "
        "share of their time",
    .least_share = 0.02,
    .sql = GPUPROF_STALLED("'no_instruction', 'no_instructions', 'imc_miss'", "0.1"),
    .bound = issued_otherwise,
    .confidence = Confidence::low,
    .reason = others_may_run,
    .fix =
        "Unroll less, let fewer paths be inlined, and put small kernels together: each begins with "
        "an empty instruction cache.",
    .link = about_warp_states,
    .mistaken = "Kernels of a few microseconds, which fetch their code when they begin.",
};

}  // namespace gpuprof::findings
