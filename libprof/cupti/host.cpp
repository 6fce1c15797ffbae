#include "libprof/cupti/host.hpp"

#include <cupti_profiler_host.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/cupti/api.hpp"
#include "libprof/cupti/recorded.hpp"

namespace gpuprof::cupti {
namespace {

std::vector<std::string> texts(const char* const* names, std::size_t count) {
  return {names, names + count};
}

// What to do if no libcupti answers.
std::string what_answers() {
  if (driver_found()) return "name a libcupti of CUDA 12.6 or newer with --cupti PATH";
  return "without a driver CUPTI up to 13.1 answers: pip install --target cupti "
         "nvidia-cuda-cupti==13.1.115, then --cupti cupti/nvidia/cu13/lib/libcupti.so.13 "
         "(GPUPROF_CUPTI in Python)";
}

// 13.2 does, in whatever function is called first. It has the sets, and 13.3 the partitions too.
bool crashes_without_driver(const Api& api) {
  return api.cuptiProfilerHostGetSinglePassSets && !api.cuptiProfilerHostSetDevicePartitionInfo &&
         !driver_found();
}

// `what`: as in "how many passes metrics take".
[[noreturn]] void throw_recorded(const std::string& what) {
  throw Error("no CUPTI here can say " + what + ": names and descriptions are all that is known",
              what_answers(), ExitCode::no_metrics);
}

}  // namespace

HostLibrary::HostLibrary(const std::vector<std::string>& candidates)
    : api_(std::make_unique<Api>()) {
  std::string reasons;
  for (const std::string& candidate : candidates) {
    std::string reason;
    if (candidate.ends_with(".catalogue")) {
      if (!std::filesystem::exists(candidate)) continue;
      recorded_ = std::make_unique<RecordedMetrics>(candidate);
      api_->path = candidate;
      return;
    }
    if (open_for_host(candidate.c_str(), *api_, reason)) {
      if (!api_->has_host_profiling()) {
        reason = api_->path + " has no host profiling API";
      } else {
        load_perfworks(*api_);
        if (!crashes_without_driver(*api_) && !chips().empty()) return;
        // From 13.2 on CUPTI has no host API without a driver (tested).
        reason = api_->path + " knows no chips without a driver, or without libnvperf_host.so";
        *api_ = {};
      }
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  throw Error("metrics need CUPTI: " + (reasons.empty() ? "no libcupti was found" : reasons),
              what_answers(), ExitCode::no_metrics);
}

HostLibrary::~HostLibrary() = default;

std::string HostLibrary::path() const { return api_->path; }

std::vector<std::string> HostLibrary::chips() const {
  if (recorded_) return recorded_->chips();
  auto params = sized<CUpti_Profiler_Host_GetSupportedChips_Params>(
      CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE);
  if (api_->cuptiProfilerHostGetSupportedChips(&params) != CUPTI_SUCCESS) return {};
  return texts(params.ppChipNames, params.numChips);
}

namespace {

CUpti_ProfilerType profiler_of(Counting counting) {
  return counting == Counting::samples ? CUPTI_PROFILER_TYPE_PM_SAMPLING
                                       : CUPTI_PROFILER_TYPE_RANGE_PROFILER;
}

[[noreturn]] void throw_unknown(const HostLibrary& library, const std::string& chip) {
  std::string known;
  for (const std::string& name : library.chips()) known += " " + name;
  throw Error("CUPTI knows no chip " + chip, "it knows" + known, ExitCode::bad_option);
}

void insist(const HostLibrary& library, const void* function, const char* what, const char* since) {
  if (library.recorded()) throw_recorded(what);
  if (function) return;
  throw Error(library.path() + " cannot say " + what + ", which came with CUDA " + since,
              "pip install -U nvidia-cuda-cupti, or name another libcupti", ExitCode::no_metrics);
}

}  // namespace

std::vector<std::string> HostLibrary::single_pass_sets(const std::string& chip) const {
  insist(*this, reinterpret_cast<const void*>(api_->cuptiProfilerHostGetSinglePassSets),
         "which sets of metrics fit into one pass", "13.2");
  auto params = sized<CUpti_Profiler_Host_GetSinglePassSets_Params>(
      CUpti_Profiler_Host_GetSinglePassSets_Params_STRUCT_SIZE);
  params.pChipName = chip.c_str();
  if (api_->cuptiProfilerHostGetSinglePassSets(&params) != CUPTI_SUCCESS) {
    throw_unknown(*this, chip);
  }
  std::vector<const char*> names(params.numOfSinglePassSets);
  params.ppSinglePassSets = names.data();
  if (names.empty() || api_->cuptiProfilerHostGetSinglePassSets(&params) != CUPTI_SUCCESS)
    return {};
  return texts(names.data(), names.size());
}

std::vector<std::string> HostLibrary::metrics_in_set(const std::string& chip,
                                                     const std::string& set) const {
  const std::vector<std::string> sets = single_pass_sets(chip);
  const auto refuse = [&] {
    throw Error(chip + " has no single-pass set " + set, "it has " + joined(sets, ", "),
                ExitCode::bad_option);
  };
  if (std::ranges::find(sets, set) == sets.end()) refuse();
  auto params = sized<CUpti_Profiler_Host_GetMetricsInSinglePassSet_Params>(
      CUpti_Profiler_Host_GetMetricsInSinglePassSet_Params_STRUCT_SIZE);
  params.pChipName = chip.c_str();
  params.pSinglePassSetName = set.c_str();
  const auto ask = api_->cuptiProfilerHostGetMetricsInSinglePassSet;
  if (ask(&params) != CUPTI_SUCCESS) refuse();
  std::vector<std::size_t> places(params.numOfMetricsInSinglePassSet);
  std::vector<std::uint8_t> text(params.metricsBufferSize + 1);  // including a terminating 0
  params.pMetricsIndicesBuffer = places.data();
  params.pMetricsBuffer = text.data();
  if (places.empty() || ask(&params) != CUPTI_SUCCESS) return {};
  std::vector<std::string> names;
  for (const std::size_t place : places) {
    if (place < text.size()) names.emplace_back(reinterpret_cast<const char*>(&text[place]));
  }
  return names;
}

std::size_t HostLibrary::most_per_pass(const std::string& chip, Counting counting) const {
  insist(*this,
         reinterpret_cast<const void*>(api_->cuptiProfilerHostGetMaxNumHardwareMetricsPerPass),
         "how many metrics fit into a pass", "12.6");
  auto params = sized<CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params>(
      CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params_STRUCT_SIZE);
  params.profilerType = profiler_of(counting);
  params.pChipName = chip.c_str();
  if (api_->cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(&params) != CUPTI_SUCCESS) {
    throw_unknown(*this, chip);
  }
  return params.maxMetricsPerPass;
}

struct HostChip::Object {
  Object(const Api& functions, const std::string& chip, Counting counting, const Image& available,
         const std::string& set)
      : api(functions) {
    // The last member was added in 13.1, and older versions refuse structs they do not know. The
    // running version cannot be queried without a driver.
    for (const std::size_t size :
         {CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
          CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_Initialize_Params, pHostObject)}) {
      auto params = sized<CUpti_Profiler_Host_Initialize_Params>(size);
      params.profilerType = profiler_of(counting);
      params.pChipName = chip.c_str();
      if (!available.empty()) params.pCounterAvailabilityImage = available.data();
      if (!set.empty()) {
        if (size < CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE) return;
        params.pSinglePassMetricSetName = set.c_str();
      }
      const CUptiResult result = api.cuptiProfilerHostInitialize(&params);
      if (result == CUPTI_SUCCESS) host = params.pHostObject;
      if (result != CUPTI_ERROR_INVALID_PARAMETER) return;
    }
  }

  ~Object() {
    if (!host) return;
    auto params = sized<CUpti_Profiler_Host_Deinitialize_Params>(
        CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    params.pHostObject = host;
    api.cuptiProfilerHostDeinitialize(&params);
  }

  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const Api& api;
  CUpti_Profiler_Host_Object* host = nullptr;
  // What can_collect() found: CUPTI takes some ms, and nvprof's metrics and events share counters.
  std::map<std::vector<std::string>, bool> collectable;
};

HostChip::HostChip(std::shared_ptr<const HostLibrary> library, std::string chip, Counting counting,
                   Image available, std::string set)
    : library_(std::move(library)),
      chip_(std::move(chip)),
      counting_(counting),
      available_(std::move(available)),
      set_(std::move(set)),
      object_(library_->recorded()
                  ? nullptr
                  : std::make_unique<Object>(library_->api(), chip_, counting_, available_, set_)) {
  if (object_ ? object_->host != nullptr : set_.empty() && library_->recorded()->has_chip(chip_)) {
    return;
  }
  if (!set_.empty()) library_->metrics_in_set(chip_, set_);
  throw_unknown(*library_, chip_);
}

HostChip::~HostChip() = default;

std::vector<std::string> HostChip::base_metrics(MetricType type) const {
  if (!object_) return library_->recorded()->base_metrics(chip_, counting_, type);
  auto params = sized<CUpti_Profiler_Host_GetBaseMetrics_Params>(
      CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE);
  params.pHostObject = object_->host;
  params.metricType = static_cast<CUpti_MetricType>(type);
  if (object_->api.cuptiProfilerHostGetBaseMetrics(&params) != CUPTI_SUCCESS) return {};
  return texts(params.ppMetricNames, params.numMetrics);
}

namespace {

// Asks about a base metric. CUPTI before 13.0 answers only if the name has a roll-up, any of them.
template <class Ask>
CUptiResult ask_about(const std::string& base, Ask&& ask) {
  CUptiResult result = CUPTI_ERROR_INVALID_METRIC_NAME;
  for (const char* roll_up : {"", ".sum", ".pct", ".avg.pct_of_peak_sustained_elapsed"}) {
    if (result != CUPTI_ERROR_INVALID_METRIC_NAME) break;
    result = ask((base + roll_up).c_str());
  }
  return result;
}

}  // namespace

std::vector<std::string> HostChip::sub_metrics(const std::string& base, MetricType type) const {
  if (!object_) return library_->recorded()->sub_metrics(chip_, counting_, base, type);
  auto params = sized<CUpti_Profiler_Host_GetSubMetrics_Params>(
      CUpti_Profiler_Host_GetSubMetrics_Params_STRUCT_SIZE);
  params.pHostObject = object_->host;
  params.metricType = static_cast<CUpti_MetricType>(type);
  const CUptiResult result = ask_about(base, [&](const char* name) {
    params.pMetricName = name;
    return object_->api.cuptiProfilerHostGetSubMetrics(&params);
  });
  if (result != CUPTI_SUCCESS) return {};
  return texts(params.ppSubMetrics, params.numOfSubmetrics);
}

std::optional<MetricProperties> HostChip::properties(const std::string& name) const {
  if (!object_) return library_->recorded()->properties(chip_, counting_, name);
  using Params = CUpti_Profiler_Host_GetMetricProperties_Params;
  Params params{};
  CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;
  // The last member was added in 13.1, like that of Initialize.
  for (const std::size_t size : {CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE,
                                 CUPTI_PROFILER_STRUCT_SIZE(Params, metricType)}) {
    if (result != CUPTI_ERROR_INVALID_PARAMETER) break;
    params = sized<Params>(size);
    params.pHostObject = object_->host;
    result = ask_about(name, [&](const char* asked) {
      params.pMetricName = asked;
      return object_->api.cuptiProfilerHostGetMetricProperties(&params);
    });
  }
  if (result != CUPTI_SUCCESS) return {};
  const auto text = [](const char* value) { return std::string(value ? value : ""); };
  return MetricProperties{
      .description = text(params.pDescription),
      .unit = text(params.pHwUnit),
      .dimension = text(params.pDimUnit),
      .type = static_cast<MetricType>(params.metricType),
      .device_level = params.metricCollectionScope == CUPTI_METRIC_COLLECTION_SCOPE_DEVICE};
}

bool HostChip::can_collect(std::span<const std::string> metrics) const {
  if (object_) {
    std::vector<std::string> names(metrics.begin(), metrics.end());
    auto& known = object_->collectable;
    if (const auto place = known.find(names); place != known.end()) return place->second;
    return known[std::move(names)] = config_image(metrics).has_value();
  }
  return std::ranges::all_of(metrics, [&](const std::string& name) {
    return library_->recorded()->can_collect(chip_, counting_, name);
  });
}

std::optional<Image> HostChip::config_image(std::span<const std::string> metrics) const {
  if (!object_) throw_recorded("which counters metrics take");
  // An object's configuration only grows, so each image requires a separate object.
  const Object object(library_->api(), chip_, counting_, available_, set_);
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  auto add = sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(
      CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  add.pHostObject = object.host;
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  if (!object.host || object.api.cuptiProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS) {
    return {};
  }
  auto size = sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(
      CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  size.pHostObject = object.host;
  if (object.api.cuptiProfilerHostGetConfigImageSize(&size) != CUPTI_SUCCESS) return {};
  Image image(size.configImageSize);
  auto get = sized<CUpti_Profiler_Host_GetConfigImage_Params>(
      CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  get.pHostObject = object.host;
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  if (object.api.cuptiProfilerHostGetConfigImage(&get) != CUPTI_SUCCESS) return {};
  return image;
}

std::size_t HostChip::passes(Image& config_image) const {
  if (!object_) throw_recorded("how many passes metrics take");
  auto params = sized<CUpti_Profiler_Host_GetNumOfPasses_Params>(
      CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
  params.configImageSize = config_image.size();
  params.pConfigImage = config_image.data();
  if (object_->api.cuptiProfilerHostGetNumOfPasses(&params) != CUPTI_SUCCESS) return 0;
  return params.numOfPasses;
}

bool HostChip::set_partition(std::span<const std::uint8_t> info) {
  if (!object_) throw_recorded("what a green context has of its device");
  if (!object_->api.cuptiProfilerHostSetDevicePartitionInfo) return false;
  auto params = sized<CUpti_Profiler_Host_SetDevicePartitionInfo_Params>(
      CUpti_Profiler_Host_SetDevicePartitionInfo_Params_STRUCT_SIZE);
  params.pHostObject = object_->host;
  params.pDevicePartitionInfo = const_cast<std::uint8_t*>(info.data());
  params.devicePartitionInfoSize = info.size();
  return object_->api.cuptiProfilerHostSetDevicePartitionInfo(&params) == CUPTI_SUCCESS;
}

std::size_t HostChip::ranges(std::span<const std::uint8_t> counter_data) const {
  if (!object_) throw_recorded("what counter data says");
  if (!object_->api.cuptiRangeProfilerGetCounterDataInfo) return 0;
  auto params = sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(
      CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  params.pCounterDataImage = counter_data.data();
  params.counterDataImageSize = counter_data.size();
  if (object_->api.cuptiRangeProfilerGetCounterDataInfo(&params) != CUPTI_SUCCESS) return 0;
  return params.numTotalRanges;
}

bool HostChip::evaluate(std::span<const std::uint8_t> counter_data, std::size_t range,
                        std::span<const char* const> metrics, double* values) const {
  if (!object_) throw_recorded("what counter data says");
  auto params = sized<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(
      CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  params.pHostObject = object_->host;
  params.pCounterDataImage = counter_data.data();
  params.counterDataImageSize = counter_data.size();
  params.rangeIndex = range;
  params.ppMetricNames = const_cast<const char**>(metrics.data());
  params.numMetrics = metrics.size();
  params.pMetricValues = values;
  return object_->api.cuptiProfilerHostEvaluateToGpuValues(&params) == CUPTI_SUCCESS;
}

}  // namespace gpuprof::cupti
