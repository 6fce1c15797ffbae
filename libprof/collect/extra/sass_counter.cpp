#include "libprof/collect/extra/sass_counter.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "libprof/base/text.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/profiler_calls.hpp"

namespace gpuprof::collect {
namespace {

// Instructions per frame: 0.8 MB with 14 metrics.
constexpr std::size_t instructions_at_once = 4096;
// Not the id of any metric.
constexpr std::uint64_t no_metric = UINT64_MAX;

#define GPUPROF_PARAMS(type) cupti::sized<type>(type##_STRUCT_SIZE)

}  // namespace

std::optional<std::vector<std::string>> SassCounter::wanted(const wire::Fields& config) {
  const auto names = config.text("sass_metrics");
  if (names.empty()) return std::nullopt;
  return split(names, ',');
}

SassCounter::SassCounter(CheckedApi& cupti, Channel& channel, SassConfiguration& configuration,
                         std::vector<std::string> metrics,
                         std::optional<wire::CollectConfig> launches,
                         std::function<void(std::string_view)> tell)
    : CollectorOf(cupti),
      channel_(channel),
      configuration_(configuration),
      wanted_(std::move(metrics)),
      tell_(std::move(tell)) {
  if (launches) chosen_.emplace(channel, std::move(*launches));
}

std::vector<wire::Statistic> SassCounter::statistics() const {
  auto all = chosen_ ? chosen_->statistics() : std::vector<wire::Statistic>();
  const auto add = [&](schema::StatisticName name, const std::atomic<std::uint64_t>& count) {
    if (const std::uint64_t value = count.load()) all.push_back({"", name, value});
  };
  add("sass_instructions_dropped", dropped_);
  add("sass_instructions_lost", lost_);
  return all;
}

// --- on and off

void SassCounter::begin(Context& context) {
  const Current current(context.handle);
  Device& device = devices_[context.device];
  Result result = find_metrics(context, device);
  if (result.code == CUPTI_SUCCESS && device.metrics.empty()) {
    return refuse(context, "the chip " + chip_of(cupti_, context.device) +
                               " has none of those that were asked for");
  }
  if (result.code == CUPTI_SUCCESS) result = configure(context, device);
  if (result.code == CUPTI_SUCCESS && !device.has_all) {
    return refuse(context,
                  "CUPTI counts in a process what it counted first, and what is wanted now is not "
                  "all among it; name in the first trace what is wanted in any");
  }
  if (result.code == CUPTI_SUCCESS && !chosen_) result = enable(context);
  if (result.code != CUPTI_SUCCESS) {
    return refuse(context, why_refused(cupti_, result.function, result.code));
  }
  if (chosen_) context.launches.emplace(context.device, context.id);
  wire::Encoder encoder;
  encode(encoder, wire::CodeCounters{.kind = wire::CodeKind::sass_metrics,
                                     .context = context.id,
                                     .device = context.device,
                                     .counters = device.metrics});
  channel_.send(wire::FrameType::sass_metrics, encoder);
  context.state.store(State::counted);
}

SassCounter::Result SassCounter::find_metrics(const Context& context, Device& device) {
  if (!device.metrics.empty()) return {"", CUPTI_SUCCESS};
  initialize_profiler(cupti_);
  const std::string chip = chip_of(cupti_, context.device);
  auto number = GPUPROF_PARAMS(CUpti_SassMetrics_GetNumOfMetrics_Params);
  number.pChipName = chip.c_str();
  CUptiResult result = cupti_.cuptiSassMetricsGetNumOfMetrics(&number);
  if (result != CUPTI_SUCCESS) return {"cuptiSassMetricsGetNumOfMetrics", result};
  std::vector<CUpti_SassMetrics_MetricDetails> all(number.numOfMetrics);
  auto list = GPUPROF_PARAMS(CUpti_SassMetrics_GetMetrics_Params);
  list.pChipName = chip.c_str();
  list.numOfMetrics = all.size();
  list.pMetricsList = all.data();
  if (!all.empty()) result = cupti_.cuptiSassMetricsGetMetrics(&list);
  if (result != CUPTI_SUCCESS) return {"cuptiSassMetricsGetMetrics", result};
  for (const CUpti_SassMetrics_MetricDetails& metric : all) {
    const std::string name = metric.pMetricName ? metric.pMetricName : "";
    if (std::ranges::find(wanted_, name) == wanted_.end()) continue;
    device.metrics.push_back({0, name, metric.pMetricDescription ? metric.pMetricDescription : ""});
    device.ids.push_back(metric.metricId);
  }
  return {"", CUPTI_SUCCESS};
}

SassCounter::Result SassCounter::configure(const Context& context, Device& device) {
  const auto answer = configuration_.want(context.handle, context.device, device.ids);
  device.counted = answer.counted;
  device.has_all = answer.has_all;
  return {"cuptiSassMetricsSetConfig", answer.result};
}

SassCounter::Result SassCounter::enable(Context& context) {
  auto params = GPUPROF_PARAMS(CUpti_SassMetricsEnable_Params);
  params.ctx = context.handle;
  // Only launched kernels are patched, each at its first launch.
  params.enableLazyPatching = 1;
  const CUptiResult result = cupti_.cuptiSassMetricsEnable(&params);
  context.enabled = result == CUPTI_SUCCESS;
  return {"cuptiSassMetricsEnable", result};
}

void SassCounter::disable(Context& context) {
  if (!std::exchange(context.enabled, false)) return;
  auto params = GPUPROF_PARAMS(CUpti_SassMetricsDisable_Params);
  params.ctx = context.handle;
  if (cupti_.try_("cuptiSassMetricsDisable", cupti_.cuptiSassMetricsDisable(&params))) {
    dropped_.fetch_add(params.numOfDroppedRecords);
  }
}

void SassCounter::refuse(Context& context, const std::string& why) {
  context.state.store(State::refused);
  if (!std::exchange(told_, true)) {
    tell_("no SASS metrics of " + context.in_words() + ": " + why);
  }
}

void SassCounter::end(Context& context) {
  if (context.state.exchange(State::refused) != State::counted) return;
  read(context, 0, !chosen_);
  disable(context);
  if (context.whole) {
    wire::Encoder encoder;
    encode(encoder, wire::CodeValues{.kind = wire::CodeKind::sass_metrics, .context = context.id});
    channel_.send(wire::FrameType::sass_values, encoder);
  }
}

// --- reading

// Counts of chosen launches were all read as the launches ended.
void SassCounter::read(Context& context) {
  if (!chosen_ && context.state.load() == State::counted) read(context, 0, true);
}

void SassCounter::read(Context& context, std::uint32_t correlation, bool keep) {
  if (!context.enabled) return;
  const Device& device = devices_[context.device];
  auto there = GPUPROF_PARAMS(CUpti_SassMetricsGetDataProperties_Params);
  there.ctx = context.handle;
  const char* function = "cuptiSassMetricsGetDataProperties";
  CUptiResult result = cupti_.cuptiSassMetricsGetDataProperties(&there);
  const std::size_t count = there.numOfPatchedInstructionRecords;
  if (result == CUPTI_SUCCESS && (count == 0 || there.numOfInstances == 0)) return;
  std::vector<CUpti_SassMetrics_Data> instructions;
  std::vector<CUpti_SassMetrics_InstanceValue> values;
  // CUPTI's header does not say whether instances are counted for each metric, or for all together.
  const std::size_t most = there.numOfInstances * device.counted;
  if (result == CUPTI_SUCCESS) {
    values.assign(count * most, {no_metric, 0});
    for (std::size_t i = 0; i < count; ++i) {
      auto& instruction = instructions.emplace_back();
      instruction.structSize = sizeof instruction;
      instruction.pInstanceValues = &values[i * most];
    }
    auto params = GPUPROF_PARAMS(CUpti_SassMetricsFlushData_Params);
    params.ctx = context.handle;
    params.numOfPatchedInstructionRecords = count;
    params.numOfInstances = there.numOfInstances;
    params.pMetricsData = instructions.data();
    function = "cuptiSassMetricsFlushData";
    result = cupti_.cuptiSassMetricsFlushData(&params);
  }
  if (result != CUPTI_SUCCESS) {
    cupti_.try_(function, result);
    context.whole = false;
    if (!std::exchange(told_, true)) {
      tell_("no SASS metrics of " + context.in_words() + ": " +
            why_refused(cupti_, function, result));
    }
    return;
  }
  for (std::size_t i = 0; keep && i < count; i += instructions_at_once) {
    send(context, device,
         std::span(instructions).subspan(i, std::min(instructions_at_once, count - i)), most,
         correlation);
  }
  // CUPTI leaves freeing the names to us, as its sample shows.
  std::set<const char*> names;
  for (const CUpti_SassMetrics_Data& instruction : instructions) {
    names.insert(instruction.functionName);
  }
  for (const char* const name : names) std::free(const_cast<char*>(name));
}

void SassCounter::send(const Context& context, const Device& device,
                       std::span<const CUpti_SassMetrics_Data> instructions, std::size_t values,
                       std::uint32_t correlation) {
  wire::CodeValues sent{
      .kind = wire::CodeKind::sass_metrics, .context = context.id, .correlation = correlation};
  wire::PlaceList places(sent);
  for (const CUpti_SassMetrics_Data& instruction : instructions) {
    std::vector<std::uint64_t> sums(device.ids.size());
    for (const auto& value : std::span(instruction.pInstanceValues, values)) {
      const auto id = std::ranges::find(device.ids, value.metricId);
      if (id == device.ids.end()) continue;
      sums[static_cast<std::size_t>(id - device.ids.begin())] += value.value;
    }
    wire::CodePlace place{.offset = instruction.pcOffset};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] != 0) place.values.push_back({static_cast<std::uint32_t>(i + 1), sums[i]});
    }
    places.add(instruction.cubinCrc, instruction.functionName, std::move(place));
  }
  if (sent.places.empty()) return;
  wire::Encoder encoder;
  encode(encoder, sent);
  if (channel_.send(wire::FrameType::sass_values, encoder) == Channel::Sent::refused) {
    lost_.fetch_add(sent.places.size());
  }
}

// --- chosen launches

void SassCounter::driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (chosen_->capture_call(id, call, [this] { return launching(); })) return;
  call.callbackSite == CUPTI_API_ENTER ? launch_begins(id, call) : launch_ends(call);
}

void SassCounter::launch_begins(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  *call.correlationData = 0;
  Context* const context = find(call.context);
  if (!context || context->state.load() != State::counted) return;
  const Launch launch(id, call);
  const Hold hold = chosen_->begins(
      *context->launches, launch, [&] { return stream_id(cupti_, context->handle, launch); },
      [&] {
        const std::unique_lock lock(calls_, patience);
        if (!lock || context->state.load() != State::counted) return false;
        const Result result = enable(*context);
        if (result.code == CUPTI_SUCCESS) return true;
        refuse(*context, why_refused(cupti_, result.function, result.code));
        return false;
      });
  if (hold == Hold::nothing) return;
  *call.correlationData = reinterpret_cast<std::uint64_t>(context) | (hold == Hold::alone ? 1 : 0);
}

void SassCounter::launch_ends(const CUpti_CallbackData& call) {
  const std::uint64_t held = *call.correlationData;
  if (held == 0) return;
  auto* const context = reinterpret_cast<Context*>(held & ~std::uint64_t{1});
  if (!has(context)) return;  // it began in an earlier trace
  chosen_->ends(*context->launches, held & 1 ? Hold::alone : Hold::shared, [&](bool sound) {
    const std::unique_lock lock(calls_, patience);
    if (!lock) return refuse(*context, "CUPTI was busy with another context");
    read(*context, call.correlationId, sound);
    disable(*context);
  });
}

bool SassCounter::held() const {
  const auto contexts = all();
  return std::ranges::any_of(contexts, [](Context* context) {
    return context->launches && !std::unique_lock(context->launches->launching, std::try_to_lock);
  });
}

bool SassCounter::listen(int timeout_ms) { return chosen_->listen(timeout_ms); }

void SassCounter::watch() {
  if (!chosen_) return;
  const char* const kernel = chosen_->hanging(launching());
  if (!kernel) return;
  tell_("the launch of " + std::string(kernel) +
        " whose instructions are counted does not end, maybe because it waits for "
        "another; no more are counted (--metrics-exclude leaves kernels out)");
}

std::vector<ChosenLaunches::Context*> SassCounter::launching() const {
  std::vector<ChosenLaunches::Context*> found;
  for (Context* const context : all()) {
    if (context->state.load() == State::counted) found.push_back(&*context->launches);
  }
  return found;
}

}  // namespace gpuprof::collect
