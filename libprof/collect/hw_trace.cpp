#include "libprof/collect/hw_trace.hpp"

#include <cstddef>

#include "libprof/collect/driver.hpp"
#include "libprof/cupti/hw_trace.hpp"

namespace gpuprof::collect {
namespace {

// What is not known to work along with it. Empty: nothing of that is collected.
std::string_view collected_with(const wire::Fields& config) {
  if (!config.text("metrics").empty()) return "metrics are measured";
  if (config.integer("pc_sampling", 0) != 0) return "program counters are sampled";
  if (!config.text("sass_metrics").empty()) return "instructions are counted";
  if (config.integer("latency_timestamps", 0) != 0) return "it has no --kernel-latency-timestamps";
  return {};
}

std::string why_none(const CheckedApi& cupti, CUptiResult result) {
  if (result != CUPTI_ERROR_NOT_SUPPORTED) return explained(cupti, result);
  return "this machine does not have it: " + cupti.text(result);
}

}  // namespace

void HwTrace::choose(const wire::Fields& config, bool contexts_exist) {
  const std::string_view mode = config.text("hw_trace");
  mode_ = mode == "on" ? Mode::on : mode == "auto" ? Mode::automatic : Mode::off;
  waits_.store(false);
  if (mode_ == Mode::off) return;
  if (on_.load()) return use(true);
  if (!cupti_.cuptiActivityEnableHWTrace) return use(false, "this libcupti is too old for it");
  if (contexts_exist) return use(false, "it has to begin before the program's first context");
  if (mode_ == Mode::automatic) {
    if (const auto other = collected_with(config); !other.empty()) return use(false, other);
  }
  if (const std::int64_t megabytes = config.integer("hw_trace_mb", 0); megabytes > 0) {
    auto wanted = static_cast<std::size_t>(megabytes);
    std::size_t size = sizeof wanted;
    const bool taken = cupti_.cuptiActivitySetAttribute &&
                       cupti_.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_HES_BUFFER_SIZE, &size,
                                                        &wanted) == CUPTI_SUCCESS;
    if (!taken) stream_.tell("warning", "--hw-trace-buffer has no effect before CUPTI 13.5");
  }
  // The chip is known once the driver is up.
  if (mode_ == Mode::automatic || !enable()) waits_.store(true);
}

void HwTrace::driver_is_up() {
  if (!waits_.exchange(false)) return;
  if (mode_ == Mode::automatic) {
    if (const std::string why = objection(); !why.empty()) return use(false, why);
  }
  if (!enable()) use(false, "CUPTI says that the driver is not up");
}

std::string HwTrace::objection() const {
  constexpr std::size_t most_devices = 64;
  auto params =
      cupti::sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  std::string why = cupti::hw_trace_objection("", cupti_.version, driver_version());
  for (; cupti_.cuptiDeviceGetChipName && params.deviceIndex < most_devices; ++params.deviceIndex) {
    if (cupti_.cuptiDeviceGetChipName(&params) != CUPTI_SUCCESS || !params.pChipName) break;
    why = cupti::hw_trace_objection(params.pChipName, cupti_.version, driver_version());
    if (!why.empty()) break;
  }
  return why;
}

bool HwTrace::enable() {
  const CUptiResult result = cupti_.cuptiActivityEnableHWTrace(1);
  // Versions before 13.3 want the driver to be up.
  if (result == CUPTI_ERROR_NOT_INITIALIZED) return false;
  if (result == CUPTI_SUCCESS) {
    use(true);
  } else {
    use(false, why_none(cupti_, result));
  }
  return true;
}

bool HwTrace::take(const CUpti_StateData& state) {
  const CUptiResult result = state.notification.result;
  if (!cupti::is_hw_trace_refusal(result)) return false;
  use(false, why_none(cupti_, result));
  return true;
}

void HwTrace::use(bool on, std::string_view why) {
  const bool before = on_.exchange(on);
  if (on) return stream_.tell("hw_trace", "on");
  stream_.tell("hw_trace", "off: " + std::string(why));
  if (mode_ == Mode::automatic && !before) return;
  stream_.tell("warning", "no hardware tracing (" + std::string(why) +
                              "): times are taken in software, as without --hw-trace");
}

}  // namespace gpuprof::collect
