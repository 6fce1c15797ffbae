#include "libprof/cupti/probe.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/cupti/api.hpp"
#include "libprof/cupti/driver.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/cupti/pm_session.hpp"

namespace gpuprof::cupti {
namespace {

constexpr char metric[] = "gpc__cycles_elapsed.max";

// Starts and stops a range profiler in its own context.
std::string try_collecting(const Api& api, CUcontext context, const std::string& chip) {
  auto host = sized<CUpti_Profiler_Host_Initialize_Params>(
      CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_Initialize_Params, pHostObject));
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = chip.c_str();
  const char* name = metric;
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
    add.ppMetricNames = &name;
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
    data_size.pMetricNames = &name;
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
  if (enable.pRangeProfilerObject) {  // the counters are wanted again below
    auto disable =
        sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    disable.pRangeProfilerObject = enable.pRangeProfilerObject;
    api.cuptiRangeProfilerDisable(&disable);
  }
  return result == CUPTI_SUCCESS ? "" : explained(api, result);
}

// Samples the device for a few milliseconds.
std::string try_pm_sampling(const Driver& driver, const std::vector<std::string>& candidates,
                            int device) {
  try {
    const std::string chip = driver.chip(device);
    const std::vector<std::string> metrics{metric};
    const HostChip host(std::make_shared<HostLibrary>(candidates), chip, Counting::samples,
                        available_counters(driver, device));
    const std::optional<Image> config = host.config_image(metrics);
    if (!config) return std::string("CUPTI does not sample ") + metric;
    PmSettings settings{.buffer_bytes = std::uint64_t{16} << 20};
    (samples_by_time(chip) ? settings.interval_ns : settings.interval_cycles) = 100'000;
    PmSession session(driver, device);
    session.configure(*config, settings);
    Image image(session.image_bytes(metrics, 256));
    session.clear(image);
    session.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    session.stop();
    return session.decode(image).samples > 0 ? "" : "CUPTI delivered no sample in 10 ms";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::vector<DeviceProbe> probe_devices(const std::vector<std::string>& candidates, Trial trial) {
  const Driver driver = start_driver(candidates, [](const Api& api) {
    return api.has_range_profiling() ? "" : "no range profiler";
  });
  const Api& api = driver.api;
  std::vector<DeviceProbe> devices;
  for (int i = 0; i < driver.devices; ++i) {
    DeviceProbe& device = devices.emplace_back();
    device.index = i;
    device.name = driver.name(i);
    device.chip = driver.chip(i);
    if (device.chip.empty()) {
      device.problem = device.pm_sampling = device.pc_sampling = unknown_chip;
      continue;
    }
    device.problem = driver.problem(i, CUPTI_PROFILER_RANGE_PROFILING);
    device.pm_sampling = driver.problem(i, CUPTI_PROFILER_PM_SAMPLING);
    device.pc_sampling = driver.problem(i, CUPTI_PROFILER_PC_SAMPLING);
    CUcontext context = nullptr;
    if (trial == Trial::none || i != 0 || !device.problem.empty()) continue;
    const CUresult created = driver.create_context(&context, 0, i);
    device.problem = created == CUDA_SUCCESS
                         ? try_collecting(api, context, device.chip)
                         : "the driver gives no context: " + driver.name_of(created);
    if (trial == Trial::all && device.problem.empty() && device.pm_sampling.empty()) {
      device.pm_sampling = try_pm_sampling(driver, candidates, i);
    }
  }
  return devices;
}

}  // namespace gpuprof::cupti
