// Multiprocessors without work while a kernel runs, by metrics.
#include "libprof/conclude/findings/kernel_measures.hpp"

namespace gpuprof::findings {

extern const Rule idle_multiprocessors{
    .id = "idle_multiprocessors",
    .title = "Multiprocessors have nothing to do while kernels run",
    .order = 127,
    .needs = {measured("name = 'sm_efficiency'"), kernel_names, kernels},
    .when =
        "Kernels of which sm_efficiency is below 80 %; of their time the share that is missing "
        "from 100 %",
    .least_share = 0.02,
    .sql = GPUPROF_LOW_EFFICIENCY("'sm_efficiency'", "80"),
    .bound =
        "If all multiprocessors worked all the time, the same work would take the share in which "
        "they do.",
    .confidence = Confidence::low,
    .reason = "Metrics are measured while kernels run alone; others may fill the room.",
    .fix =
        "Launch more and smaller blocks, let blocks take work until it is done (a persistent "
        "kernel, stream-K), give them the same work, or run other kernels at the same time.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#thread-and-block-heuristics",
    .mistaken =
        "Kernels of a few microseconds, most of which is starting; kernels at the same time as "
        "others.",
};

}  // namespace gpuprof::findings
