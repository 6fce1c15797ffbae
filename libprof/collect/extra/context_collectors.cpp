#include "libprof/collect/extra/context_collectors.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "libprof/cupti/api.hpp"

namespace gpuprof::collect {
namespace {

using Tell = std::function<void(std::string_view)>;

std::unique_ptr<PcSampler> wanted_sampler(const wire::Fields& config, CheckedApi& cupti,
                                          Channel& channel, const Tell& tell) {
  auto settings = PcSampler::wanted(config);
  if (!settings) return nullptr;
  if (!cupti.has_pc_sampling() || cupti.version < PcSampler::first_version) {
    tell("no PC samples: " + cupti.path +
         " cannot take them while tracing; the libcupti of CUDA 12.8 Update 1 is the first that "
         "can");
    return nullptr;
  }
  return std::make_unique<PcSampler>(cupti, channel, std::move(*settings), tell);
}

std::unique_ptr<SassCounter> wanted_counter(const wire::Fields& config, CheckedApi& cupti,
                                            Channel& channel, SassConfiguration& sass,
                                            const Tell& tell) {
  auto metrics = SassCounter::wanted(config);
  if (!metrics) return nullptr;
  if (!cupti.has_sass_metrics()) {
    tell("no SASS metrics: " + cupti.path + " does not have them");
    return nullptr;
  }
  // With 13.0, cuptiProfilerInitialize answers OLD_PROFILER_API_INITIALIZED once PCIE was enabled;
  // and without that kind nothing is counted next to the others (measured on an H100).
  constexpr std::uint32_t first_that_counts = 130100;
  if (cupti.version < first_that_counts) {
    tell(
        "no SASS metrics: CUPTI before 13.1 counts none while gpuprof traces; name a newer one "
        "with --cupti (pip install -U nvidia-cuda-cupti)");
    return nullptr;
  }
  auto launches = ChosenLaunches::wanted(config);
  if (!launches && !config.text("sass_launches").empty()) return nullptr;
  return std::make_unique<SassCounter>(cupti, channel, sass, std::move(*metrics),
                                       std::move(launches), tell);
}

}  // namespace

std::unique_ptr<ContextCollectors> ContextCollectors::wanted(const wire::Fields& config,
                                                             CheckedApi& cupti, Channel& channel,
                                                             SassConfiguration& sass,
                                                             const Tell& tell) {
  auto collectors = std::make_unique<ContextCollectors>();
  if (auto sampler = wanted_sampler(config, cupti, channel, tell)) {
    collectors->sampler_ = sampler.get();
    collectors->all_.push_back(std::move(sampler));
  }
  if (auto counter = wanted_counter(config, cupti, channel, sass, tell)) {
    if (counter->by_launch()) collectors->counter_ = counter.get();
    collectors->all_.push_back(std::move(counter));
  }
  if (collectors->all_.empty()) return nullptr;
  load_perfworks(cupti);
  return collectors;
}

void ContextCollectors::begin(const std::vector<CUcontext>& contexts) {
  for (CUcontext context : contexts) context_created(context);
}

void ContextCollectors::driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (counter_) counter_->driver_call(id, call);
  if (sampler_) sampler_->driver_call(id, call);
}

bool ContextCollectors::held() const {
  return (sampler_ && sampler_->held()) || (counter_ && counter_->held());
}

void ContextCollectors::context_created(CUcontext context) {
  for (const auto& each : all_) each->context_created(context);
}

void ContextCollectors::context_ends(CUcontext context) {
  for (const auto& each : all_) each->context_ends(context);
}

void ContextCollectors::module_ends(CUcontext context) {
  for (const auto& each : all_) each->module_ends(context);
}

void ContextCollectors::watch() {
  for (const auto& each : all_) each->watch();
}

void ContextCollectors::finish() {
  for (const auto& each : all_) each->finish();
}

void ContextCollectors::add_statistics(std::vector<wire::Statistic>& to) const {
  for (const auto& each : all_) std::ranges::move(each->statistics(), std::back_inserter(to));
}

}  // namespace gpuprof::collect
