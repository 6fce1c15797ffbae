// Parts of a GPU: MIG and virtual GPUs.
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

Findings examine_mig(const System& system) {
  const std::string capabilities = "/proc/driver/nvidia/capabilities";
  for (const std::string& gpu : system.entries(capabilities)) {
    if (!gpu.starts_with("gpu")) continue;
    for (const std::string& part : system.entries(capabilities + "/" + gpu + "/mig")) {
      if (!part.starts_with("gi")) continue;
      return unknown("GPU " + gpu.substr(3) +
                         " is divided by MIG: metrics of units that its parts share have no "
                         "values, and some collectors refuse a part",
                     {"sudo nvidia-smi -i " + gpu.substr(3) + " -mig 0"});
    }
  }
  if (module_version(system).empty()) return {};
  return ok("no GPU is divided");
}

// "NVIDIA A100-10C": the name of a part ends with its memory in GB and its series.
bool is_virtual(std::string_view model) {
  const std::size_t dash = model.rfind('-');
  if (dash == model.npos || dash + 3 > model.size()) return false;
  const std::string_view memory = model.substr(dash + 1, model.size() - dash - 2);
  return parse<int>(memory) &&
         std::string_view("ABCQ").find(model.back()) != std::string_view::npos;
}

Findings examine_virtual_gpu(const System& system) {
  const std::string gpus = "/proc/driver/nvidia/gpus";
  std::string models;
  for (const std::string& gpu : system.entries(gpus)) {
    const auto text = system.text(gpus + "/" + gpu + "/information");
    for (const std::string& line : split(text.value_or(""), '\n')) {
      if (!line.starts_with("Model:")) continue;
      const std::string model(trimmed(line.substr(6)));
      if (is_virtual(model)) {
        return unknown(model +
                           " is a virtual GPU: it is traced, but counters need "
                           "enable_profiling. The administrator of the host types",
                       {"echo 'enable_profiling=1' | sudo tee "
                        "/sys/bus/mdev/devices/UUID/nvidia/vgpu_params"});
      }
      models += (models.empty() ? "" : ", ") + model;
    }
  }
  if (models.empty()) return {};
  return ok("none: " + models);
}

}  // namespace

extern const Check mig_check{
    .name = "mig",
    .question = "Are the GPUs whole, not divided by MIG?",
    .examine = examine_mig,
};

extern const Check virtual_gpu_check{
    .name = "virtual-gpu",
    .question = "Are the GPUs real, not virtual?",
    .examine = examine_virtual_gpu,
};

}  // namespace gpuprof::doctor
