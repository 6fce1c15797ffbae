// The stand-in's host profiling API. Nothing here asks for a driver, as in NVIDIA's up to 13.1.
#include <cupti.h>
#include <cupti_profiler_host.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fake_cupti/cupti/images.hpp"
#include "tests/fake_cupti/cupti/metrics.hpp"
#include "tests/fake_cupti/cupti/params.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"

namespace {

// Of each chip, for samples.
struct SinglePassSet {
  const char* name;
  std::vector<const char*> metrics;
};
const std::vector<SinglePassSet> single_pass_sets{
    {"Memory", {"dram__bytes_read", "dram__bytes_write"}},
    {"Compute", {"sm__cycles_active", "sm__inst_executed", "sm__warps_active"}}};

const SinglePassSet* find_set(std::string_view name) {
  const auto found = std::ranges::find(single_pass_sets, name, &SinglePassSet::name);
  return found == single_pass_sets.end() ? nullptr : &*found;
}

}  // namespace

struct CUpti_Profiler_Host_Object {
  std::uint32_t chip = 0;
  const SinglePassSet* set = nullptr;
  fake::Plan plan;
  bool spoiled = false;                 // by a metric that could not be added
  std::optional<std::uint32_t> device;  // of the first image that was evaluated
  std::uint64_t instances = 0;          // of the device's part; 0: all
  std::vector<const char*> base_metrics;
  std::vector<const char*> sub_metrics;
};

namespace {

using namespace fake;

static_assert(static_cast<int>(MetricType::ratio) == CUPTI_METRIC_TYPE_RATIO);
static_assert(static_cast<int>(MetricType::throughput) == CUPTI_METRIC_TYPE_THROUGHPUT);

// NVIDIA's 12.6 to 12.9 answer about a metric only if its name has a roll-up.
std::optional<Metric> metric_asked_about(std::uint32_t chip, std::string_view name) {
  if (version() < 130000 && name.find('.') == name.npos) return {};
  return find_metric(chip, name);
}

}  // namespace

extern "C" {

CUptiResult cuptiProfilerHostGetSupportedChips(
    CUpti_Profiler_Host_GetSupportedChips_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetSupportedChips_Params);
  params->numChips = chips.size();
  params->ppChipNames = chips.data();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(
    CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params);
  if (!params->pChipName || !find_chip(params->pChipName) ||
      params->profilerType >= CUPTI_PROFILER_TYPE_PROFILER_INVALID) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  params->maxMetricsPerPass = params->profilerType == CUPTI_PROFILER_TYPE_PM_SAMPLING ? 8 : 16;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSinglePassSets(
    CUpti_Profiler_Host_GetSinglePassSets_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetSinglePassSets_Params);
  if (!params->pChipName || !find_chip(params->pChipName)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (params->ppSinglePassSets && params->numOfSinglePassSets < single_pass_sets.size()) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (std::size_t i = 0; params->ppSinglePassSets && i < single_pass_sets.size(); ++i) {
    params->ppSinglePassSets[i] = single_pass_sets[i].name;
  }
  params->numOfSinglePassSets = single_pass_sets.size();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMetricsInSinglePassSet(
    CUpti_Profiler_Host_GetMetricsInSinglePassSet_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetMetricsInSinglePassSet_Params);
  if (!params->pChipName || !find_chip(params->pChipName) || !params->pSinglePassSetName ||
      !params->pMetricsBuffer != !params->pMetricsIndicesBuffer) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const auto* set = find_set(params->pSinglePassSetName);
  if (!set) return CUPTI_ERROR_INVALID_PARAMETER;
  std::string text;
  std::vector<std::size_t> places;
  for (const char* metric : set->metrics) {
    places.push_back(text.size());
    text.append(metric).push_back('\0');
  }
  if (params->pMetricsBuffer) {
    if (params->numOfMetricsInSinglePassSet < places.size() ||
        params->metricsBufferSize < text.size()) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    std::memcpy(params->pMetricsBuffer, text.data(), text.size());
    std::memcpy(params->pMetricsIndicesBuffer, places.data(), places.size() * sizeof places[0]);
  }
  params->numOfMetricsInSinglePassSet = places.size();
  params->metricsBufferSize = text.size();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  TROUBLE_IF_TOLD();
  using Params = CUpti_Profiler_Host_Initialize_Params;
  const std::size_t old_size = CUPTI_PROFILER_STRUCT_SIZE(Params, pHostObject);
  const std::size_t size = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  if (!params || !is_known_size(params->structSize, old_size, size, 130200) ||
      params->profilerType >= CUPTI_PROFILER_TYPE_PROFILER_INVALID || !params->pChipName) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const auto chip = find_chip(params->pChipName);
  if (!chip) return CUPTI_ERROR_INVALID_CHIP_NAME;
  const char* set = params->structSize >= size ? params->pSinglePassMetricSetName : nullptr;
  if (set && !find_set(set)) return CUPTI_ERROR_INVALID_PARAMETER;
  params->pHostObject = new CUpti_Profiler_Host_Object;
  params->pHostObject->chip = *chip;
  params->pHostObject->set = set ? find_set(set) : nullptr;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_Deinitialize_Params);
  if (!params->pHostObject) return CUPTI_ERROR_INVALID_PARAMETER;
  delete params->pHostObject;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetBaseMetrics_Params);
  if (!params->pHostObject || params->metricType >= CUPTI_METRIC_TYPE__COUNT) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  auto& names = params->pHostObject->base_metrics;
  names = base_metrics(params->pHostObject->chip, static_cast<MetricType>(params->metricType));
  params->ppMetricNames = names.data();
  params->numMetrics = names.size();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetSubMetrics_Params);
  if (!params->pHostObject || !params->pMetricName) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto metric = metric_asked_about(params->pHostObject->chip, params->pMetricName);
  if (!metric) return CUPTI_ERROR_INVALID_METRIC_NAME;
  if (static_cast<MetricType>(params->metricType) != type_of(*metric)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  auto& names = params->pHostObject->sub_metrics;
  names = suffixes(type_of(*metric));
  params->ppSubMetrics = names.data();
  params->numOfSubmetrics = names.size();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetMetricProperties(
    CUpti_Profiler_Host_GetMetricProperties_Params* params) {
  TROUBLE_IF_TOLD();
  using Params = CUpti_Profiler_Host_GetMetricProperties_Params;
  const std::size_t old_size = CUPTI_PROFILER_STRUCT_SIZE(Params, metricType);
  const std::size_t size = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE;
  if (!params || !is_known_size(params->structSize, old_size, size, 130100) ||
      !params->pHostObject || !params->pMetricName) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const auto metric = metric_asked_about(params->pHostObject->chip, params->pMetricName);
  if (!metric) return CUPTI_ERROR_INVALID_METRIC_NAME;
  params->pDescription = description(*metric);
  params->pHwUnit = unit(*metric);
  params->pDimUnit = dimension(*metric);
  params->metricType = static_cast<CUpti_MetricType>(type_of(*metric));
  if (params->structSize >= CUPTI_PROFILER_STRUCT_SIZE(Params, metricCollectionScope)) {
    params->metricCollectionScope = is_device_level(*metric)
                                        ? CUPTI_METRIC_COLLECTION_SCOPE_DEVICE
                                        : CUPTI_METRIC_COLLECTION_SCOPE_CONTEXT;
  }
  return CUPTI_SUCCESS;
}

// Whatever is wrong is an invalid parameter, and nothing can be had of the object after that: as
// seen in NVIDIA's 13.0.
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  CUpti_Profiler_Host_Object* object = params->pHostObject;
  if (!object || !params->ppMetricNames) return CUPTI_ERROR_INVALID_PARAMETER;
  if (object->spoiled) return CUPTI_ERROR_UNKNOWN;
  const auto in_set = [&](const char* name) {
    return std::ranges::any_of(object->set->metrics, [&](const char* base) {
      return std::string_view(name).starts_with(std::string(base) + ".");
    });
  };
  if (object->set &&
      !std::all_of(params->ppMetricNames, params->ppMetricNames + params->numMetrics, in_set)) {
    object->spoiled = true;
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (!add(object->plan, object->chip, {params->ppMetricNames, params->numMetrics})) {
    object->spoiled = true;
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(
    CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetConfigImageSize_Params);
  const CUpti_Profiler_Host_Object* object = params->pHostObject;
  if (!object) return CUPTI_ERROR_INVALID_PARAMETER;
  if (object->spoiled || object->plan.passes == 0) return CUPTI_ERROR_UNKNOWN;
  params->configImageSize = sizeof(ConfigImage);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetConfigImage_Params);
  const CUpti_Profiler_Host_Object* object = params->pHostObject;
  if (!object || !params->pConfigImage || params->configImageSize < sizeof(ConfigImage)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (object->spoiled || object->plan.passes == 0) return CUPTI_ERROR_UNKNOWN;
  const ConfigImage image{.chip = object->chip, .plan = object->plan};
  std::memcpy(params->pConfigImage, &image, sizeof image);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_GetNumOfPasses_Params);
  const auto image = read_image<ConfigImage>(params->pConfigImage, params->configImageSize);
  if (!image) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numOfPasses = image->plan.passes;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostSetDevicePartitionInfo(
    CUpti_Profiler_Host_SetDevicePartitionInfo_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_SetDevicePartitionInfo_Params);
  const auto info =
      read_image<PartitionInfo>(params->pDevicePartitionInfo, params->devicePartitionInfoSize);
  if (!params->pHostObject || !info) return CUPTI_ERROR_INVALID_PARAMETER;
  params->pHostObject->instances = info->instances;
  return CUPTI_SUCCESS;
}

// NaN: the range lacks a pass, or its configuration did not ask for the metric.
CUptiResult cuptiProfilerHostEvaluateToGpuValues(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  CUpti_Profiler_Host_Object* object = params->pHostObject;
  const auto image = read_counter_data(params->pCounterDataImage, params->counterDataImageSize);
  if (!object || !image || image->chip != object->chip || params->rangeIndex >= image->ranges ||
      !params->ppMetricNames || !params->pMetricValues) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const RangeData range = read_range(params->pCounterDataImage, params->rangeIndex);
  const bool complete = range.passes == all_passes(range);
  // As seen with two H200: of the second device, counters inside the SM have no value.
  if (!object->device) object->device = image->device;
  const bool other_device = *object->device != image->device;
  for (std::size_t i = 0; i < params->numMetrics; ++i) {
    const auto metric = find_metric(object->chip, params->ppMetricNames[i]);
    if (!metric || !is_whole(*metric)) return CUPTI_ERROR_INVALID_METRIC_NAME;
    const char* numberless = std::getenv("FAKE_CUPTI_NO_NUMBERS");
    const bool counted = !numberless || std::strcmp(unit(*metric), numberless) != 0;
    const bool inside_sm = std::string_view(unit(*metric)).starts_with("sm");
    params->pMetricValues[i] =
        complete && counted && (range.metrics & bit(*metric)) && !(other_device && inside_sm)
            ? value(*metric, object->chip, range.counts, object->instances)
            : std::numeric_limits<double>::quiet_NaN();
  }
  return CUPTI_SUCCESS;
}

}  // extern "C"
