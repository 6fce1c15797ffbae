#include "libprof/collect/extra/sass_configuration.hpp"

#include <cupti_sass_metrics.h>

#include <algorithm>

namespace gpuprof::collect {

SassConfiguration::Answer SassConfiguration::want(CUcontext context, std::uint32_t device,
                                                  std::span<const std::uint64_t> metrics) {
  const std::unique_lock lock(mutex_, patience);
  if (!lock) return {.result = CUPTI_ERROR_INVALID_OPERATION};
  auto found = devices_.find(device);
  if (found == devices_.end()) {
    std::vector<CUpti_SassMetrics_Config> configs;
    for (const std::uint64_t id : metrics) {
      configs.push_back({id, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU});
    }
    auto params = cupti::sized<CUpti_SassMetricsSetConfig_Params>(
        CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE);
    params.numOfMetricConfig = configs.size();
    params.pConfigs = configs.data();
    params.deviceIndex = device;
    const CUptiResult result = cupti_.cuptiSassMetricsSetConfig(&params);
    if (result != CUPTI_SUCCESS) return {.result = result};
    found = devices_.try_emplace(device).first;
    found->second.metrics.assign(metrics.begin(), metrics.end());
  }
  auto& [counted, contexts] = found->second;
  contexts.insert(context);
  return {.counted = counted.size(), .has_all = std::ranges::all_of(metrics, [&](auto id) {
                                       return std::ranges::find(counted, id) != counted.end();
                                     })};
}

void SassConfiguration::context_ends(CUcontext context) {
  const std::unique_lock lock(mutex_, patience);
  if (!lock) return;
  for (auto each = devices_.begin(); each != devices_.end();) {
    std::set<CUcontext>& contexts = each->second.contexts;
    if (contexts.erase(context) == 0 || !contexts.empty()) {
      ++each;
      continue;
    }
    take_back(each->first);
    each = devices_.erase(each);
  }
}

void SassConfiguration::process_ends() {
  const std::unique_lock lock(mutex_, patience);
  if (!lock) return;
  for (const auto& [device, configured] : devices_) take_back(device);
  devices_.clear();
}

void SassConfiguration::take_back(std::uint32_t device) {
  auto params = cupti::sized<CUpti_SassMetricsUnsetConfig_Params>(
      CUpti_SassMetricsUnsetConfig_Params_STRUCT_SIZE);
  params.deviceIndex = device;
  cupti_.try_("cuptiSassMetricsUnsetConfig", cupti_.cuptiSassMetricsUnsetConfig(&params));
}

}  // namespace gpuprof::collect
