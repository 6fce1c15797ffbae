#include "libprof/collect/extra/pc_sampler.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "libprof/base/text.hpp"
#include "libprof/collect/profiler_calls.hpp"
#include "schema/pc_sampling.hpp"

namespace gpuprof::collect {
namespace {

using Clock = std::chrono::steady_clock;

// CUPTI refuses to begin in some callbacks; then our own thread does it.
constexpr int most_attempts = 10;
// Instructions per reading: 1.5 MB with 40 reasons.
constexpr std::size_t places_at_once = 4096;
// At a time: CUPTI may never finish with a busy device.
constexpr int most_readings = 256;
// Reading much more often makes it likely that CUPTI reads the name of a function while the driver
// unloads its module.
constexpr std::int64_t least_between_readings_ms = 100;
// Added to the exponent of CUPTI's own period, with which the buffer of a busy H200 filled up in
// each flush period and lost its content (measured).
constexpr int rarer_than_usual = 3;
constexpr std::chrono::milliseconds between_looks{1};  // at captures

template <class Params>
Params params_of(std::size_t size, CUcontext context) {
  Params params{};
  params.size = size;
  params.ctx = context;
  return params;
}

bool is_wanted(const std::vector<std::string>& wanted, std::string_view name) {
  if (wanted.empty()) return true;
  if (name.starts_with(schema::stall_prefix)) name.remove_prefix(schema::stall_prefix.size());
  if (name.ends_with(schema::not_issued_suffix)) {
    name.remove_suffix(schema::not_issued_suffix.size());
  }
  return std::ranges::find(wanted, name) != wanted.end();
}

}  // namespace

std::optional<PcSampler::Settings> PcSampler::wanted(const wire::Fields& config) {
  if (config.integer("pc_sampling", 0) == 0) return std::nullopt;
  Settings settings;
  settings.period = static_cast<int>(std::clamp<std::int64_t>(config.integer("pc_period"), 0, 31));
  if (const auto reasons = config.text("pc_reasons"); !reasons.empty()) {
    settings.reasons = split(reasons, ',');
  }
  settings.serialized = config.integer("pc_serialize") != 0;
  settings.buffer_bytes =
      static_cast<std::size_t>(std::clamp<std::int64_t>(config.integer("pc_buffer_mb"), 0, 65536))
      << 20;
  settings.every = std::chrono::milliseconds(
      std::clamp<std::int64_t>(config.integer("flush_ms", 500), least_between_readings_ms, 60'000));
  return settings;
}

PcData::PcData(std::size_t reasons)
    : counts_(places_at_once * std::max<std::size_t>(reasons, 1)), places_(places_at_once) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].size = sizeof places_[i];
    places_[i].stallReason = &counts_[i * std::max<std::size_t>(reasons, 1)];
  }
  data_.size = sizeof data_;
  data_.collectNumPcs = places_.size();
  data_.pPcData = places_.data();
}

PcSampler::PcSampler(CheckedApi& cupti, Channel& channel, Settings settings,
                     std::function<void(std::string_view)> tell)
    : CollectorOf(cupti),
      channel_(channel),
      settings_(std::move(settings)),
      tell_(std::move(tell)) {}

void PcSampler::watch() {
  const bool due = Clock::now() >= next_reading_;
  for (Context* const context : all()) {
    const std::lock_guard lock(calls_);
    if (context->ended.load()) continue;
    if (context->state == State::waiting) begin(*context);
    if (due) read(*context);
  }
  if (due) next_reading_ = Clock::now() + settings_.every;
}

std::vector<wire::Statistic> PcSampler::statistics() const {
  std::vector<wire::Statistic> all;
  if (const std::uint64_t lost = lost_.load()) all.push_back({"", "pc_samples_lost", lost});
  return all;
}

// --- on and off

void PcSampler::driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  // The beginning of a capture is held back as launches are.
  const bool captures = captures_.take(id, call, [] {});
  if (captures && capture_of(id) == Capture::ends) return;
  // Identifies us, since a launch may begin before a trace and end in it.
  const auto mine = reinterpret_cast<std::uint64_t>(this);
  if (call.callbackSite == CUPTI_API_ENTER) {
    *call.correlationData = launches_.enter() ? mine : 0;
    return;
  }
  if (settings_.serialized && !captures) read_of(call.context);
  if (*call.correlationData == mine) launches_.leave();
}

void PcSampler::begin(Context& context) {
  for (const Context* const other : all()) {
    if (other->state == State::sampled && other->device == context.device) return;
  }
  const LaunchGate::Closed closed(launches_);
  if (captures_.any()) {
    context.not_yet = "streams were being captured into graphs all the time";
    return;
  }
  ++context.attempts;
  const auto fails = [&](const Failure& failure) {
    context.not_yet = failure.why;
    const bool again = failure.may_pass && context.attempts < most_attempts;
    if (!again) refuse(context, context.not_yet);
  };
  if (!closed) return fails({"a launch did not come to its end", true});
  const CUptiResult enabled = enable(context);
  if (enabled != CUPTI_SUCCESS) {
    return fails({why_refused(cupti_, "cuptiPCSamplingEnable", enabled),
                  enabled == CUPTI_ERROR_INVALID_OPERATION});
  }
  std::vector<wire::CodeCounter> reasons;
  std::uint64_t period = 0;
  auto failure = find_reasons(context, reasons);
  if (!failure) failure = configure(context, reasons, period);
  if (failure) {
    if (!disable(context)) failure->may_pass = false;
    return fails(*failure);
  }
  context.state = State::sampled;
  wire::Encoder encoder;
  encode(encoder, wire::CodeCounters{.kind = wire::CodeKind::pc_samples,
                                     .context = context.id,
                                     .device = context.device,
                                     .period = period,
                                     .serialized = settings_.serialized,
                                     .counters = reasons});
  channel_.send(wire::FrameType::pc_sampling, encoder);
}

CUptiResult PcSampler::enable(Context& context) {
  auto params =
      params_of<CUpti_PCSamplingEnableParams>(CUpti_PCSamplingEnableParamsSize, context.handle);
  return cupti_.cuptiPCSamplingEnable(&params);
}

bool PcSampler::disable(Context& context) {
  auto params =
      params_of<CUpti_PCSamplingDisableParams>(CUpti_PCSamplingDisableParamsSize, context.handle);
  return cupti_.try_("cuptiPCSamplingDisable", cupti_.cuptiPCSamplingDisable(&params));
}

// The wanted reasons.
std::optional<PcSampler::Failure> PcSampler::find_reasons(Context& context,
                                                          std::vector<wire::CodeCounter>& reasons) {
  auto number = params_of<CUpti_PCSamplingGetNumStallReasonsParams>(
      CUpti_PCSamplingGetNumStallReasonsParamsSize, context.handle);
  std::size_t count = 0;
  number.numStallReasons = &count;
  CUptiResult result = cupti_.cuptiPCSamplingGetNumStallReasons(&number);
  std::vector<std::uint32_t> indexes(count);
  std::vector<std::string> texts(count, std::string(CUPTI_STALL_REASON_STRING_SIZE, '\0'));
  std::vector<char*> names;
  for (std::string& text : texts) names.push_back(text.data());
  if (result == CUPTI_SUCCESS && count > 0) {
    auto params = params_of<CUpti_PCSamplingGetStallReasonsParams>(
        CUpti_PCSamplingGetStallReasonsParamsSize, context.handle);
    params.numStallReasons = count;
    params.stallReasonIndex = indexes.data();
    params.stallReasons = names.data();
    result = cupti_.cuptiPCSamplingGetStallReasons(&params);
  }
  if (result != CUPTI_SUCCESS) {
    return Failure{"stall reasons: " + cupti_.text(result),
                   result == CUPTI_ERROR_INVALID_OPERATION};
  }
  if (count == 0) return Failure{"CUPTI knows no stall reasons of the device"};
  std::string known;
  for (std::size_t i = 0; i < count; ++i) {
    std::string name = texts[i].c_str();
    // The list also contains totals of samples taken and dropped.
    if (!name.starts_with(schema::stall_prefix)) continue;
    if (!name.ends_with(schema::not_issued_suffix)) {
      known += (known.empty() ? "" : ", ") + name.substr(schema::stall_prefix.size());
    }
    if (is_wanted(settings_.reasons, name)) reasons.push_back({indexes[i], std::move(name), ""});
  }
  if (reasons.empty()) {
    return Failure{"the device has none of the stall reasons that were named; it has " + known};
  }
  return std::nullopt;
}

// As an exponent of two; 0: unknown.
int PcSampler::period_of(const Context& context) {
  CUpti_PCSamplingConfigurationInfo asked{};
  asked.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
  auto params = params_of<CUpti_PCSamplingConfigurationInfoParams>(
      CUpti_PCSamplingConfigurationInfoParamsSize, context.handle);
  params.numAttributes = 1;
  params.pPCSamplingConfigurationInfo = &asked;
  if (cupti_.cuptiPCSamplingGetConfigurationAttribute(&params) != CUPTI_SUCCESS) return 0;
  return static_cast<int>(asked.attributeData.samplingPeriodData.samplingPeriod);
}

std::optional<PcSampler::Failure> PcSampler::configure(
    Context& context, const std::vector<wire::CodeCounter>& reasons, std::uint64_t& period) {
  context.read = std::make_unique<PcData>(reasons.size());
  context.rest = std::make_unique<PcData>(reasons.size());
  std::vector<std::uint32_t> indexes;
  for (const wire::CodeCounter& reason : reasons) indexes.push_back(reason.index);
  std::vector<CUpti_PCSamplingConfigurationInfo> infos;
  const auto add = [&](CUpti_PCSamplingConfigurationAttributeType type) -> auto& {
    infos.emplace_back();
    infos.back().attributeType = type;
    return infos.back().attributeData;
  };
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE).collectionModeData.collectionMode =
      settings_.serialized ? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
                           : CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON).stallReasonData = {indexes.size(),
                                                                                 indexes.data()};
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      .samplingDataBufferData.samplingDataBuffer = context.rest->get();
  int wanted = settings_.period;
  if (const int usual = period_of(context); wanted == 0 && usual > 0 && !settings_.serialized) {
    wanted = std::min(usual + rarer_than_usual, 31);
  }
  if (wanted > 0) {
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
        .samplingPeriodData.samplingPeriod = static_cast<std::uint32_t>(wanted);
  }
  if (settings_.buffer_bytes > 0) {
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE)
        .hardwareBufferSizeData.hardwareBufferSize = settings_.buffer_bytes;
  }
  auto params = params_of<CUpti_PCSamplingConfigurationInfoParams>(
      CUpti_PCSamplingConfigurationInfoParamsSize, context.handle);
  params.numAttributes = infos.size();
  params.pPCSamplingConfigurationInfo = infos.data();
  const CUptiResult result = cupti_.cuptiPCSamplingSetConfigurationAttribute(&params);
  if (result != CUPTI_SUCCESS) {
    std::string which;
    for (const auto& info : infos) {
      if (info.attributeStatus != CUPTI_SUCCESS) {
        which += " " + std::to_string(static_cast<int>(info.attributeType));
      }
    }
    return Failure{"cuptiPCSamplingSetConfigurationAttribute" +
                       (which.empty() ? "" : " of" + which) + ": " + cupti_.text(result),
                   result == CUPTI_ERROR_INVALID_OPERATION};
  }
  const int power = period_of(context);
  period = power <= 0 || power > 31 ? 0 : std::uint64_t{1} << power;
  return std::nullopt;
}

void PcSampler::refuse(Context& context, const std::string& why) {
  context.state = State::refused;
  if (!std::exchange(told_, true)) tell_("no PC samples of " + context.in_words() + ": " + why);
}

void PcSampler::end(Context& context) {
  if (context.state != State::sampled) return;
  read(context);
  if (context.state != State::sampled) return;
  context.state = State::refused;
  const auto until = Clock::now() + patience;
  std::optional<LaunchGate::Closed> closed;
  for (closed.emplace(launches_); captures_.any() && Clock::now() < until;) {
    closed.reset();
    std::this_thread::sleep_for(between_looks);
    closed.emplace(launches_);
  }
  CUpti_PCSamplingData& rest = *context.rest->get();
  rest.totalNumPcs = 0;
  rest.totalSamples = rest.droppedSamples = rest.nonUsrKernelsTotalSamples = 0;
  if (disable(context)) send(context, rest);
}

// --- reading

void PcSampler::read(Context& context) {
  if (context.state != State::sampled) return;
  auto params =
      params_of<CUpti_PCSamplingGetDataParams>(CUpti_PCSamplingGetDataParamsSize, context.handle);
  CUpti_PCSamplingData& data = *context.read->get();
  params.pcSamplingData = &data;
  for (int i = 0; i < most_readings; ++i) {
    data.totalNumPcs = data.remainingNumPcs = 0;
    data.totalSamples = data.droppedSamples = data.nonUsrKernelsTotalSamples = 0;
    data.hardwareBufferFull = 0;
    const CUptiResult result = cupti_.cuptiPCSamplingGetData(&params);
    // OUT_OF_MEMORY means that the device's buffer was full; what remains is in the data.
    if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY) {
      cupti_.try_("cuptiPCSamplingGetData", result);
      return refuse(context, "cuptiPCSamplingGetData: " + cupti_.text(result) +
                                 "; there are no samples from here on");
    }
    send(context, data);
    if (data.remainingNumPcs == 0 || data.totalNumPcs == 0) return;
  }
}

void PcSampler::send(const Context& context, const CUpti_PCSamplingData& data) {
  wire::CodeValues samples{.kind = wire::CodeKind::pc_samples,
                           .context = context.id,
                           .device = context.device,
                           .total = data.totalSamples,
                           .dropped = data.droppedSamples,
                           .others = data.nonUsrKernelsTotalSamples,
                           .overflow = data.hardwareBufferFull != 0};
  const std::size_t count = std::min(data.totalNumPcs, data.collectNumPcs);
  if (count == 0 && samples.total == 0 && samples.dropped == 0 && !samples.overflow) return;
  wire::PlaceList places(samples);
  for (const CUpti_PCSamplingPCData& pc : std::span(data.pPcData, count)) {
    wire::CodePlace place{.correlation = settings_.serialized ? pc.correlationId : 0,
                          .offset = pc.pcOffset};
    for (const auto& reason : std::span(pc.stallReason, pc.stallReasonCount)) {
      if (reason.samples == 0) continue;
      place.values.push_back({reason.pcSamplingStallReasonIndex, reason.samples});
    }
    places.add(pc.cubinCrc, pc.functionName, std::move(place));
  }
  wire::Encoder encoder;
  encode(encoder, samples);
  if (channel_.send(wire::FrameType::pc_samples, encoder) == Channel::Sent::refused) {
    lost_.fetch_add(samples.total);
  }
}

}  // namespace gpuprof::collect
