// Other tools in the places that gpuprof needs: injection, NVTX, NCCL, the counters.
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"
#include "libprof/doctor/injected.hpp"

namespace gpuprof::doctor {
namespace {

Findings examine_injection(const System& system) {
  for (const char* name : {"NSYS_PROFILING_SESSION_ID", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE"}) {
    if (!system.is_set(name)) continue;
    return cannot(
        "this shell was started by Nsight, which takes CUPTI in every program (" +
            std::string(name) + ")",
        {std::string("unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH LD_PRELOAD ") + name});
  }
  for (const char* name :
       {"libsanitizer-collection", "libTreeLauncher", "libInterceptorInjection"}) {
    if (system.variable("LD_PRELOAD").find(name) == std::string::npos) continue;
    return cannot("LD_PRELOAD has NVIDIA's " + std::string(name) +
                      ": a debugger or another profiler is in every program",
                  {"unset LD_PRELOAD"});
  }
  if (system.variable("KINETO_USE_DAEMON") == "1") {
    return unknown(
        "KINETO_USE_DAEMON=1: PyTorch's profiler starts when dynolog asks for it; while "
        "gpuprof records, it gets no GPU records",
        {"unset KINETO_USE_DAEMON"});
  }
  return about_injection(system, system.environment, "CUDA_INJECTION64_PATH");
}

Findings examine_nvtx(const System& system) {
  Findings found = about_injection(system, system.environment, "NVTX_INJECTION64_PATH");
  if (found[0].answer != Answer::ok) return found;
  const std::string runtime = system.variable("XDG_RUNTIME_DIR");
  for (const std::string& folder :
       {std::string("/run/nvidia/nvtx"),
        is_root(system) ? std::string("/run/nvidia/nvtx/user.0") : runtime + "/nvidia/nvtx"}) {
    const std::string file = folder + "/nvtx-cuda.yaml";
    if (!folder.starts_with('/') || !system.exists(file)) continue;
    return unknown(file +
                       " announces a tool to NVTX. Programs under gpuprof send their ranges to "
                       "gpuprof, others to that tool",
                   {"rm " + shell_word(file)});
  }
  return found;
}

Findings examine_nccl(const System& system) {
  const std::string plugin = system.variable("NCCL_PROFILER_PLUGIN");
  if (plugin.empty()) return ok("no profiler plug-in is set");
  if (plugin.starts_with('/') && !system.exists(plugin)) {
    return cannot("NCCL_PROFILER_PLUGIN names " + plugin + ", which does not exist",
                  {"unset NCCL_PROFILER_PLUGIN"});
  }
  return unknown("NCCL_PROFILER_PLUGIN=" + plugin +
                     " runs in every process of NCCL, and its cost is in the times recorded; "
                     "gpuprof is no plug-in then and records no operations",
                 {"unset NCCL_PROFILER_PLUGIN"});
}

Findings examine_profilers(const System& system) {
  if (const auto all = running(system, {"ncu", "gpuprof-sampler"}); !all.empty()) {
    return cannot(words_for(all) + " holds the counters of the GPUs that it measures",
                  {"kill " + all[0].process});
  }
  if (const auto all = running(system, {"nv-hostengine", "dcgm-exporter"}); !all.empty()) {
    return unknown(words_for(all) + " holds the counters if it collects profiling metrics",
                   {"dcgmi profiling --pause"});
  }
  if (const auto all = running(system, {"nsys", "nsys-launcher"}); !all.empty()) {
    return unknown(words_for(all) + " has CUPTI in the programs that it profiles",
                   {"nsys sessions list"});
  }
  return ok("none is running that is visible here");
}

Findings examine_mps(const System& system) {
  const std::string pipes = system.variable("CUDA_MPS_PIPE_DIRECTORY");
  const std::string folder = pipes.empty() ? "/tmp/nvidia-mps" : pipes;
  const auto all = running(system, {"nvidia-cuda-mps-control", "nvidia-cuda-mps-server"});
  if (all.empty() && !(system.exists(folder + "/control") && !container_of(system).empty())) {
    return ok("it is not running");
  }
  return cannot("MPS is running" + (all.empty() ? " (" + folder + ")" : ": " + words_for(all)) +
                    "; CUPTI traces its clients, but collects no metrics and samples of them",
                {"echo quit | nvidia-cuda-mps-control"});
}

}  // namespace

extern const Check injection_check{
    .name = "injection",
    .question = "Is the place free where CUDA loads gpuprof's collector?",
    .examine = examine_injection,
};

extern const Check nvtx_check{
    .name = "nvtx",
    .question = "Is the place free where NVTX loads gpuprof's collector?",
    .examine = examine_nvtx,
};

extern const Check nccl_check{
    .name = "nccl",
    .question = "Is NCCL without a profiler plug-in?",
    .examine = examine_nccl,
};

extern const Check profilers_check{
    .name = "profilers",
    .question = "Are the counters and CUPTI free of other profilers?",
    .examine = examine_profilers,
};

extern const Check mps_check{
    .name = "mps",
    .question = "Do programs use the GPUs without MPS?",
    .examine = examine_mps,
};

}  // namespace gpuprof::doctor
