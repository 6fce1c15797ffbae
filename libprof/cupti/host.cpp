#include "libprof/cupti/host.hpp"

#include <cupti_profiler_host.h>
#include <dlfcn.h>

#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/cupti/api.hpp"

namespace gpuprof::cupti {
namespace {

std::vector<std::string> texts(const char* const* names, std::size_t count) {
  return {names, names + count};
}

// libcupti opens libnvperf_host.so by its bare name, and finds the one that is there already.
void load_perfworks(const std::string& cupti_path) {
  const std::size_t folder = cupti_path.rfind('/');
  if (folder == cupti_path.npos) return;
  dlopen((cupti_path.substr(0, folder) + "/libnvperf_host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}
}  // namespace

HostLibrary::HostLibrary(const std::vector<std::string>& candidates)
    : api_(std::make_unique<Api>()) {
  std::string reasons;
  for (const std::string& candidate : candidates) {
    std::string reason;
    if (open_for_host(candidate.c_str(), *api_, reason)) {
      if (!api_->has_host_profiling()) {
        reason = api_->path + " has no host profiling API";
      } else {
        load_perfworks(api_->path);
        if (!chips().empty()) return;
        // Since 13.3 CUPTI has no host API where there is no driver (tried).
        reason = api_->path + " knows no chips without a driver, or without libnvperf_host.so";
      }
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  throw Error("metrics need CUPTI: " + (reasons.empty() ? "no libcupti was found" : reasons),
              "name a libcupti of CUDA 12.6 or newer with --cupti PATH", ExitCode::no_metrics);
}

HostLibrary::~HostLibrary() = default;

std::string HostLibrary::path() const { return api_->path; }

std::vector<std::string> HostLibrary::chips() const {
  CUpti_Profiler_Host_GetSupportedChips_Params params{
      CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE};
  if (api_->cuptiProfilerHostGetSupportedChips(&params) != CUPTI_SUCCESS) return {};
  return texts(params.ppChipNames, params.numChips);
}

struct HostChip::Object {
  Object(const Api& api, const std::string& chip) : api(api) {
    // The last member came with 13.1, and older versions refuse what they do not know. Which
    // version runs cannot be asked without a driver.
    for (const std::size_t size :
         {CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
          CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_Initialize_Params, pHostObject)}) {
      CUpti_Profiler_Host_Initialize_Params params{};
      params.structSize = size;
      params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
      params.pChipName = chip.c_str();
      const CUptiResult result = api.cuptiProfilerHostInitialize(&params);
      if (result == CUPTI_SUCCESS) host = params.pHostObject;
      if (result != CUPTI_ERROR_INVALID_PARAMETER) return;
    }
  }

  ~Object() {
    if (!host) return;
    CUpti_Profiler_Host_Deinitialize_Params params{
        CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE};
    params.pHostObject = host;
    api.cuptiProfilerHostDeinitialize(&params);
  }

  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const Api& api;
  CUpti_Profiler_Host_Object* host = nullptr;
};

HostChip::HostChip(std::shared_ptr<const HostLibrary> library, std::string chip)
    : library_(std::move(library)),
      chip_(std::move(chip)),
      object_(std::make_unique<Object>(library_->api(), chip_)) {
  if (object_->host) return;
  std::string known;
  for (const std::string& name : library_->chips()) known += " " + name;
  throw Error("CUPTI knows no chip " + chip_, "it knows" + known, ExitCode::bad_option);
}

HostChip::~HostChip() = default;

std::vector<std::string> HostChip::base_metrics(MetricType type) const {
  CUpti_Profiler_Host_GetBaseMetrics_Params params{
      CUpti_Profiler_Host_GetBaseMetrics_Params_STRUCT_SIZE};
  params.pHostObject = object_->host;
  params.metricType = static_cast<CUpti_MetricType>(type);
  if (object_->api.cuptiProfilerHostGetBaseMetrics(&params) != CUPTI_SUCCESS) return {};
  return texts(params.ppMetricNames, params.numMetrics);
}

std::vector<std::string> HostChip::sub_metrics(const std::string& base, MetricType type) const {
  CUpti_Profiler_Host_GetSubMetrics_Params params{
      CUpti_Profiler_Host_GetSubMetrics_Params_STRUCT_SIZE};
  params.pHostObject = object_->host;
  params.metricType = static_cast<CUpti_MetricType>(type);
  params.pMetricName = base.c_str();
  if (object_->api.cuptiProfilerHostGetSubMetrics(&params) != CUPTI_SUCCESS) return {};
  return texts(params.ppSubMetrics, params.numOfSubmetrics);
}

std::optional<MetricProperties> HostChip::properties(const std::string& name) const {
  CUpti_Profiler_Host_GetMetricProperties_Params params{
      CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE};
  params.pHostObject = object_->host;
  params.pMetricName = name.c_str();
  if (object_->api.cuptiProfilerHostGetMetricProperties(&params) != CUPTI_SUCCESS) return {};
  const auto text = [](const char* value) { return std::string(value ? value : ""); };
  return MetricProperties{
      .description = text(params.pDescription),
      .unit = text(params.pHwUnit),
      .dimension = text(params.pDimUnit),
      .type = static_cast<MetricType>(params.metricType),
      .device_level = params.metricCollectionScope == CUPTI_METRIC_COLLECTION_SCOPE_DEVICE};
}

std::optional<Image> HostChip::config_image(std::span<const std::string> metrics) const {
  // An object's configuration only grows, so each image takes one of its own.
  const Object object(library_->api(), chip_);
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  CUpti_Profiler_Host_ConfigAddMetrics_Params add{
      CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
  add.pHostObject = object.host;
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  if (!object.host || object.api.cuptiProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS) {
    return {};
  }
  CUpti_Profiler_Host_GetConfigImageSize_Params size{
      CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE};
  size.pHostObject = object.host;
  if (object.api.cuptiProfilerHostGetConfigImageSize(&size) != CUPTI_SUCCESS) return {};
  Image image(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params get{
      CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE};
  get.pHostObject = object.host;
  get.configImageSize = image.size();
  get.pConfigImage = image.data();
  if (object.api.cuptiProfilerHostGetConfigImage(&get) != CUPTI_SUCCESS) return {};
  return image;
}

std::size_t HostChip::passes(Image& config_image) const {
  CUpti_Profiler_Host_GetNumOfPasses_Params params{
      CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE};
  params.configImageSize = config_image.size();
  params.pConfigImage = config_image.data();
  if (object_->api.cuptiProfilerHostGetNumOfPasses(&params) != CUPTI_SUCCESS) return 0;
  return params.numOfPasses;
}

bool HostChip::evaluate(std::span<const std::uint8_t> counter_data, std::size_t range,
                        std::span<const char* const> metrics, double* values) const {
  CUpti_Profiler_Host_EvaluateToGpuValues_Params params{
      CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE};
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
