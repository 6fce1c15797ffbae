// Whether there is a CUDA driver whose parts fit together, and whether its devices can be opened.
#include <unistd.h>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

// The oldest whose CUDA (12) CUPTI 12.6 supports.
constexpr int oldest_driver = 525;

const std::vector<std::string> with_gpus{"docker run --gpus all IMAGE"};
constexpr char make_devices[] = "sudo nvidia-modprobe -c 0 -u";
// As the driver makes them unless it is configured otherwise.
constexpr char open_to_all[] = "sudo chmod a+rw /dev/nvidia*";

std::vector<std::string> how_to_install(const System& system) {
  const std::string family = distribution(system);
  if (family == "ubuntu") return {"sudo ubuntu-drivers install", "sudo reboot"};
  if (family == "debian") return {"sudo apt install nvidia-driver", "sudo reboot"};
  if (family == "arch") return {"sudo pacman -S nvidia-open nvidia-utils", "sudo reboot"};
  if (family == "fedora") {
    return {"sudo dnf install nvidia-driver nvidia-driver-cuda", "sudo reboot"};
  }
  return {};
}

// Only the library is missing.
Findings no_library(const System& system, const std::string& module) {
  const std::string what =
      "the kernel module " + module + " is loaded, but there is no libcuda.so.1";
  if (!container_of(system).empty()) {
    return cannot(what + " in this container (NVIDIA_DRIVER_CAPABILITIES lacks compute)",
                  {"docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"});
  }
  if (distribution(system) == "ubuntu") {
    const std::string major = std::to_string(parts_of(module)[0]);
    return cannot(what, {"sudo apt install libnvidia-compute-" + major});
  }
  return cannot(what, how_to_install(system));
}

// Only the module is missing.
Findings no_module(const System& system, const std::string& library) {
  const std::string what = library + " is here, but the nvidia kernel module is not loaded";
  if (!container_of(system).empty()) return cannot(what, with_gpus);
  if (system.exists("/sys/module/nouveau")) {
    return cannot(what + ": nouveau has the GPU",
                  {"echo 'blacklist nouveau' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf",
                   "sudo reboot"});
  }
  return cannot(what, {"sudo modprobe nvidia"});
}

Findings both(const System& system, const std::string& module, const Library& library) {
  const auto loaded = parts_of(module);
  const bool same = library.version.empty() || parts_of(library.version) == loaded;
  // NVIDIA's package of newer libraries for older modules.
  const bool compatible = library.path.find("/compat") != library.path.npos;
  if (!same && compatible && parts_of(library.version) < loaded) {
    return cannot(library.path + " is " + library.version + ", older than the kernel module " +
                      module + ", and CUDA refuses that",
                  {system.variable("LD_LIBRARY_PATH").find("/compat") != std::string::npos
                       ? "unset LD_LIBRARY_PATH"
                       : "sudo rm " + shell_word(library.path)});
  }
  if (!same && !compatible) {
    return cannot("the kernel module is " + module + ", but " + library.path + " is " +
                      library.version + ": the driver was updated since it was loaded",
                  {"sudo reboot"});
  }
  if (loaded[0] < oldest_driver) {
    return cannot("driver " + module + " is too old: gpuprof needs CUPTI 12.6, and that needs " +
                      std::to_string(oldest_driver),
                  how_to_install(system));
  }
  return ok(module + ", " + library.path);
}

Findings on_wsl(const System& system) {
  const std::string windows = "/usr/lib/wsl/lib/libcuda.so.1";
  const Library library = find_library(system, "libcuda.so.1");
  if (!container_of(system).empty()) {  // where the driver is mounted elsewhere
    return library.path.empty() ? cannot(no_driver_library, with_gpus) : ok(library.path);
  }
  if (!system.exists("/dev/dxg") || !system.exists(windows)) {
    return cannot("Windows gives WSL no GPU: /dev/dxg or " + windows + " is missing",
                  {"wsl.exe --update", "wsl.exe --shutdown"});
  }
  const bool is_windows = library.path.empty() || library.path.find("/wsl/") != library.path.npos ||
                          system.target(library.path).find("/wsl/") != std::string::npos;
  if (!is_windows) {
    return cannot("a Linux driver is installed in WSL and hides that of Windows: " + library.path,
                  {"sudo apt purge 'libnvidia-compute-*' 'nvidia-driver-*'"});
  }
  return ok("that of Windows, in WSL (gpuprof was not tested there)");
}

Findings examine_driver(const System& system) {
  if (is_wsl(system)) return on_wsl(system);
  const std::string module = module_version(system);
  Library library = find_library(system, "libcuda.so.1");
  // The loader's cache may know more folders.
  if (library.path.empty() && !system.is_copy() && driver_found()) library.path = "libcuda.so.1";
  if (library.path.find("/stubs") != library.path.npos) {
    return cannot(library.path + " is CUDA's stub for linking, and comes before the driver",
                  {"unset LD_LIBRARY_PATH"});
  }
  if (module.empty() && library.path.empty()) {
    return cannot(no_driver_library,
                  container_of(system).empty() ? how_to_install(system) : with_gpus);
  }
  if (library.path.empty()) return no_library(system, module);
  if (module.empty()) return no_module(system, library.path);
  return both(system, module, library);
}

// Why CUDA would see no GPU although there are some; empty: it sees them.
Findings hidden(const System& system, std::size_t count) {
  const std::string chosen = system.variable("CUDA_VISIBLE_DEVICES");
  const auto first = parse<long>(split(chosen, ',')[0]);
  const bool none = chosen.empty() || (first && (*first < 0 || *first >= static_cast<long>(count)));
  if (system.is_set("CUDA_VISIBLE_DEVICES") && none) {
    return cannot("CUDA_VISIBLE_DEVICES=" + chosen + " hides every GPU",
                  {"unset CUDA_VISIBLE_DEVICES"});
  }
  return {};
}

Findings examine_devices(const System& system) {
  const std::size_t count = system.entries("/proc/driver/nvidia/gpus").size();
  if (count == 0) return {};  // no driver, or not this way of finding out
  if (Findings why = hidden(system, count); !why.empty()) return why;
  const bool contained = !container_of(system).empty();
  std::size_t usable = 0;
  for (const std::string& name : system.entries("/dev")) {
    if (!name.starts_with("nvidia") || !parse<int>(std::string_view(name).substr(6))) continue;
    usable += system.may("/dev/" + name, R_OK | W_OK);
  }
  for (const std::string name : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    if (!system.exists(name)) {
      return cannot(name + " does not exist",
                    contained ? with_gpus : std::vector<std::string>{make_devices});
    }
    if (!system.may(name, R_OK | W_OK)) {
      return cannot("this user may not open " + name, {open_to_all});
    }
  }
  if (usable == 0) {
    return cannot("this user can open none of the machine's GPUs (/dev/nvidia0, …)",
                  contained ? with_gpus : std::vector<std::string>{open_to_all});
  }
  return ok(count_of(usable, "GPU") + " of " + std::to_string(count) + " can be opened");
}

}  // namespace

extern const Check driver_check{
    .name = "driver",
    .question = "Is there a CUDA driver whose kernel module and library fit together?",
    .examine = examine_driver,
};

extern const Check devices_check{
    .name = "devices",
    .question = "Can this user open the GPUs' device files?",
    .examine = examine_devices,
};

}  // namespace gpuprof::doctor
