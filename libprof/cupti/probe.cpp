#include "libprof/cupti/probe.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"
#include "libprof/cupti/api.hpp"

namespace gpuprof::cupti {
namespace {

// What a refusal means, and what to do about it.
std::string explained(const Api& api, CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators read counters; run as root or with "
             "CAP_SYS_ADMIN (docker run --cap-add=SYS_ADMIN), or load the nvidia module with "
             "NVreg_RestrictProfilingToAdminUsers=0";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the virtual GPU may not be profiled; its administrator can allow it "
             "(enable_profiling)";
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another program is using the counters: DCGM (dcgmi profiling --pause), ncu, or "
             "another gpuprof";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "CUPTI does not profile this virtual GPU";
    default: {
      const char* text = "";
      api.cuptiGetResultString(result, &text);
      return text;
    }
  }
}

// Why CUPTI would refuse the device, as far as it knows without trying.
std::string unsupported(const Api& api, CUdevice device) {
  if (!api.cuptiProfilerDeviceSupported) return {};
  // `sku` is younger than the rest.
  for (const std::size_t size :
       {CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE,
        CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeviceSupported_Params, api),
        CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeviceSupported_Params, wsl)}) {
    auto params = sized<CUpti_Profiler_DeviceSupported_Params>(size);
    params.cuDevice = device;
    params.api = CUPTI_PROFILER_RANGE_PROFILING;
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

// Starts and stops a range profiler in a context of its own.
std::string try_collecting(const Api& api, CUcontext context, const std::string& chip) {
  auto host = sized<CUpti_Profiler_Host_Initialize_Params>(
      CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_Initialize_Params, pHostObject));
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = chip.c_str();
  const char* metric = "gpc__cycles_elapsed.max";
  auto add = sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(
      CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  auto image_size = sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(
      CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  auto get = sized<CUpti_Profiler_Host_GetConfigImage_Params>(
      CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  auto enable = sized<CUpti_RangeProfiler_Enable_Params>(
      CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject));
  auto data_size = sized<CUpti_RangeProfiler_GetCounterDataSize_Params>(
      CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  auto data = sized<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  auto set =
      sized<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  auto start =
      sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  auto stop = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  std::vector<std::uint8_t> config;
  std::vector<std::uint8_t> image;
  CUptiResult result = CUPTI_SUCCESS;
  const auto step = [&](auto function, auto& params) {
    if (result == CUPTI_SUCCESS) result = function(&params);
    return result == CUPTI_SUCCESS;
  };
  if (step(api.cuptiProfilerHostInitialize, host)) {
    add.pHostObject = image_size.pHostObject = get.pHostObject = host.pHostObject;
    add.ppMetricNames = &metric;
    add.numMetrics = 1;
    step(api.cuptiProfilerHostConfigAddMetrics, add);
  }
  if (step(api.cuptiProfilerHostGetConfigImageSize, image_size)) {
    config.resize(image_size.configImageSize);
    get.configImageSize = config.size();
    get.pConfigImage = config.data();
    step(api.cuptiProfilerHostGetConfigImage, get);
  }
  enable.ctx = context;
  if (step(api.cuptiRangeProfilerEnable, enable)) {
    data_size.pRangeProfilerObject = data.pRangeProfilerObject = set.pRangeProfilerObject =
        start.pRangeProfilerObject = stop.pRangeProfilerObject = enable.pRangeProfilerObject;
    data_size.pMetricNames = &metric;
    data_size.numMetrics = data_size.maxNumOfRanges = data_size.maxNumRangeTreeNodes = 1;
    if (step(api.cuptiRangeProfilerGetCounterDataSize, data_size)) {
      image.resize(data_size.counterDataSize);
      data.counterDataSize = image.size();
      data.pCounterData = image.data();
      step(api.cuptiRangeProfilerCounterDataImageInitialize, data);
    }
    set.configSize = config.size();
    set.pConfig = config.data();
    set.counterDataImageSize = image.size();
    set.pCounterDataImage = image.data();
    set.range = CUPTI_AutoRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = set.numNestingLevels = set.minNestingLevel = set.targetNestingLevel = 1;
    step(api.cuptiRangeProfilerSetConfig, set);
    if (step(api.cuptiRangeProfilerStart, start)) step(api.cuptiRangeProfilerStop, stop);
  }
  return result == CUPTI_SUCCESS ? "" : explained(api, result);
}

}  // namespace

std::vector<DeviceProbe> probe_devices(const std::vector<std::string>& candidates, bool try_one) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!driver) {
    throw Error(no_driver_library, "gpuprof --query-metrics --chip NAME needs none",
                ExitCode::no_driver);
  }
  const auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(driver, name));
    if (!function) throw Error(std::string("the CUDA driver has no ") + name);
  };
  CUresult (*init)(unsigned) = nullptr;
  CUresult (*count_devices)(int*) = nullptr;
  CUresult (*create_context)(CUcontext*, unsigned, CUdevice) = nullptr;
  CUresult (*device_name)(char*, int, CUdevice) = nullptr;
  look_up(init, "cuInit");
  look_up(count_devices, "cuDeviceGetCount");
  look_up(create_context, "cuCtxCreate_v2");
  look_up(device_name, "cuDeviceGetName");

  int count = 0;
  if (init(0) != CUDA_SUCCESS || count_devices(&count) != CUDA_SUCCESS || count == 0) {
    throw Error("the CUDA driver finds no GPU", "see what nvidia-smi says", ExitCode::no_driver);
  }
  Api api;
  std::string reasons;
  for (const std::string& candidate : candidates) {
    std::string reason;
    if (!open(candidate.c_str(), api, reason)) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    } else if (!api.has_range_profiling() || !api.has_host_profiling() ||
               !api.cuptiDeviceGetChipName || !api.cuptiProfilerInitialize) {
      reasons += (reasons.empty() ? "" : "; ") + api.path + " has no range profiler";
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
  const CUptiResult initialized = api.cuptiProfilerInitialize(&initialize);
  if (initialized != CUPTI_SUCCESS && api.version < 130300) {
    // These crash at what follows (measured with 13.0 to 13.2).
    throw Error(api.path + " does not start: " + explained(api, initialized),
                "name another libcupti with --cupti PATH", ExitCode::no_metrics);
  }
  std::vector<DeviceProbe> devices;
  for (int i = 0; i < count; ++i) {
    DeviceProbe& device = devices.emplace_back();
    device.index = i;
    char name[256] = "";
    if (device_name(name, sizeof name, i) == CUDA_SUCCESS) device.name = name;
    auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    chip.deviceIndex = static_cast<std::size_t>(i);
    if (api.cuptiDeviceGetChipName(&chip) == CUPTI_SUCCESS && chip.pChipName) {
      device.chip = chip.pChipName;
    } else {
      device.problem = "CUPTI does not know the chip; a newer one may (--cupti PATH)";
      continue;
    }
    device.problem = unsupported(api, i);
    if (initialized != CUPTI_SUCCESS && device.problem.empty()) {
      device.problem = explained(api, initialized);
    }
    CUcontext context = nullptr;
    if (try_one && i == 0 && device.problem.empty() &&
        create_context(&context, 0, i) == CUDA_SUCCESS) {
      device.problem = try_collecting(api, context, device.chip);
    }
  }
  return devices;
}

}  // namespace gpuprof::cupti
