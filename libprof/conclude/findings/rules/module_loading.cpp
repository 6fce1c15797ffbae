// Code is loaded while the GPU has nothing to do.
#include "libprof/conclude/findings/idle_in_calls.hpp"
#include "libprof/conclude/simulate/functions.hpp"

namespace gpuprof::findings {

extern const Rule module_loading{
    .id = "module_loading",
    .title = "The GPU waits while the host loads code",
    .order = 20,
    .needs = {names_of_calls, calls, gaps},
    .when =
        "Idle time between works in which the host was in a function that loads, links, looks up "
        "or unloads code: cuLibraryLoadData, cuModuleLoadData, cuLinkComplete, "
        "cuKernelGetFunction, cudaFuncGetAttributes and others of their kind. Of a gap that "
        "began in such a call also what the host did until the next launch, at most as long as it "
        "had been in the call",
    .least_share = 0.01,
    .sql = GPUPROF_LATE_AFTER_CALLS(GPUPROF_LOADS_CODE) GPUPROF_IDLE_IN_CALLS(GPUPROF_LOADS_CODE)
        GPUPROF_LATE_ROWS,
    .bound = only_idle_time,
    .mends = simulate::loading,
    .confidence = Confidence::high,
    .reason = no_work_meanwhile,
    .fix =
        "Run one step before what is measured or served. CUDA_MODULE_LOADING=EAGER loads all "
        "code at the start; the driver does not compile code that is there for the GPU's own "
        "compute capability.",
    .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#lazy-loading",
    .mistaken =
        "A short recording: code is loaded once, so a longer run has the same time with more "
        "steps. Code that a launch loads is in the time of the launch, which this rule does "
        "not see.",
};

}  // namespace gpuprof::findings
