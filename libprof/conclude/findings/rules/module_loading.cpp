// Code is loaded while the GPU has nothing to do.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"
#include "libprof/conclude/simulate/functions.hpp"

namespace gpuprof::findings {

extern const Rule module_loading{
    .id = "module_loading",
    .title = "The GPU waits while the host loads code",
    .order = 20,
    .needs = {{.table = "API_NAME", .otherwise = not_of_gpuprof, .rows = true},
              {.table = "api_calls", .otherwise = calls_not_recorded, .rows = true}},
    .when =
        "Idle time between works in which the host was in a function that loads, links or "
        "looks up code: cuLibraryLoadData, cuModuleLoadData, cuLinkComplete, "
        "cuKernelGetFunction, cudaFuncGetAttributes and others of their kind",
    .least_share = 0.01,
    .sql = R"(  SELECT a.device, a.part, a.ns, a.count, NULL AS first, NULL AS last,
         substr(n.name, 1, instr(n.name || '_', '_') - 1) AS what
  FROM account AS a
  JOIN API_NAME AS n ON n.domain = a.domain AND n.cbid = a.cause
  WHERE a.part = 'call'
    AND )" GPUPROF_LOADS_CODE,
    .bound = "Without these calls, the idle time in them is saved and nothing else.",
    .mends = simulate::loading,
    .confidence = Confidence::high,
    .reason = "The GPU had no work while the host was in the call.",
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
