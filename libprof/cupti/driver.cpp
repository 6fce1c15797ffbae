#include "libprof/cupti/driver.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::cupti {

namespace {

// Why CUPTI would refuse the device, as far as it knows without trying.
std::string unsupported(const Api& api, CUdevice device, CUpti_Profiler_API use) {
  if (!api.cuptiProfilerDeviceSupported) return {};
  // The member `sku` was added later than the others.
  for (const std::size_t size :
       {CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE,
        CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeviceSupported_Params, api),
        CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeviceSupported_Params, wsl)}) {
    auto params = sized<CUpti_Profiler_DeviceSupported_Params>(size);
    params.cuDevice = device;
    params.api = use;
    if (api.cuptiProfilerDeviceSupported(&params) != CUPTI_SUCCESS) continue;
    if (params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED ||
        params.isSupported == CUPTI_PROFILER_CONFIGURATION_LIMITED_SUPPORT) {
      return {};
    }
    std::string why;
    const auto add = [&](CUpti_Profiler_Support_Level level, const char* what) {
      if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
          level == CUPTI_PROFILER_CONFIGURATION_DISABLED) {
        why += (why.empty() ? "" : ", ") + std::string(what);
      }
    };
    add(params.architecture, "the GPU is too old");
    add(params.sli, "SLI is on");
    add(params.vGpu, "a virtual GPU without the permission to profile");
    add(params.confidentialCompute, "confidential computing is on");
    add(params.cmp, "a mining processor");
    add(params.wsl, "WSL");
    return "CUPTI does not profile it" + (why.empty() ? "" : ": " + why);
  }
  return {};
}

}  // namespace

std::string Driver::name(int device) const {
  char name[256] = "";
  return device_name(name, sizeof name, device) == CUDA_SUCCESS ? name : "";
}

std::string Driver::name_of(CUresult result) const {
  const char* name = nullptr;
  if (error_name && error_name(result, &name) == CUDA_SUCCESS && name) return name;
  return "error " + std::to_string(result);
}

std::string Driver::chip(int device) const {
  auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  chip.deviceIndex = static_cast<std::size_t>(device);
  return api.cuptiDeviceGetChipName(&chip) == CUPTI_SUCCESS && chip.pChipName ? chip.pChipName : "";
}

std::string Driver::problem(int device, CUpti_Profiler_API use) const {
  std::string why = unsupported(api, device, use);
  if (why.empty() && profiler != CUPTI_SUCCESS) why = explained(api, profiler);
  return why;
}

Driver start_driver(const std::vector<std::string>& candidates,
                    const char* (*lacks)(const Api& api)) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    throw Error(no_driver_library, "gpuprof --query-metrics --chip NAME needs no driver",
                ExitCode::no_driver);
  }
  const auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) throw Error(std::string("the CUDA driver has no ") + name);
  };
  CUresult (*init)(unsigned) = nullptr;
  CUresult (*count_devices)(int*) = nullptr;
  Driver driver;
  look_up(init, "cuInit");
  look_up(count_devices, "cuDeviceGetCount");
  look_up(driver.create_context, "cuCtxCreate_v2");
  look_up(driver.device_name, "cuDeviceGetName");
  driver.error_name =
      reinterpret_cast<decltype(driver.error_name)>(dlsym(library, "cuGetErrorName"));

  CUresult result = init(0);
  if (result == CUDA_SUCCESS) result = count_devices(&driver.devices);
  if (result != CUDA_SUCCESS || driver.devices == 0) {
    throw Error("the CUDA driver finds no GPU" +
                    (result == CUDA_SUCCESS ? "" : ": " + driver.name_of(result)),
                "see what nvidia-smi says", ExitCode::no_driver);
  }
  Api& api = driver.api;
  std::string reasons;
  for (const std::string& candidate : candidates) {
    std::string reason;
    if (!open(candidate.c_str(), api, reason)) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    } else if (!api.has_host_profiling() || !api.cuptiDeviceGetChipName ||
               !api.cuptiProfilerInitialize) {
      reasons += (reasons.empty() ? "" : "; ") + api.path + " has no host profiling API";
    } else if (const std::string_view missing = lacks(api); !missing.empty()) {
      reasons += (reasons.empty() ? "" : "; ") + api.path + " has " + std::string(missing);
    } else {
      load_perfworks(api);
      break;
    }
    api = {};
  }
  if (!api.library) {
    throw Error("metrics need CUPTI: " + (reasons.empty() ? "no libcupti was found" : reasons),
                "name a libcupti of CUDA 12.6 or newer with --cupti PATH", ExitCode::no_metrics);
  }
  auto initialize =
      sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  driver.profiler = api.cuptiProfilerInitialize(&initialize);
  if (driver.profiler != CUPTI_SUCCESS && api.version < 130300) {
    // These versions crash in the calls that follow (measured with 13.0 to 13.2).
    throw Error(api.path + " does not start: " + explained(api, driver.profiler),
                "name another libcupti with --cupti PATH", ExitCode::no_metrics);
  }
  return driver;
}

}  // namespace gpuprof::cupti
