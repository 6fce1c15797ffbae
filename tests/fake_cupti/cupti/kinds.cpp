// Which kinds of records, and which functions' calls, the client of the stand-in wants.
#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/driver_hooks.hpp"
#include "tests/fake_cupti/cupti/range_profiler.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"
#include "tests/fake_cupti/cupti/state.hpp"

namespace {

using namespace fake;

// The first kind that the version does not know.
std::uint32_t first_unknown_kind() {
  if (version() >= 130100) return CUPTI_ACTIVITY_KIND_COUNT;
  if (version() >= 28) return 56;
  return version() >= 26 ? 55 : 53;
}

// A kind overrides what was said of single functions before.
void forget_wishes(CUpti_ActivityKind kind) {
  if (kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER) return;
  auto& wishes = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? cupti().runtime_wish : cupti().driver_wish;
  for (std::atomic<Wish>& wish : wishes) wish.store(not_said);
}

CUptiResult enable(CUpti_ActivityKind kind) {
  const auto number = static_cast<std::uint32_t>(kind);
  if (number == 0 || number >= first_unknown_kind()) return CUPTI_ERROR_INVALID_KIND;
  switch (number) {
    case CUPTI_ACTIVITY_KIND_CDP_KERNEL:
    case CUPTI_ACTIVITY_KIND_MODULE:
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
    case CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE: return CUPTI_ERROR_NOT_COMPATIBLE;
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      // Measured: these are in its way the second time.
      const bool again = cupti().was_serial.exchange(true) && version() >= 130400;
      constexpr CUpti_ActivityKind in_the_way[] = {
          CUPTI_ACTIVITY_KIND_JIT, CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS,
          CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE,
          CUPTI_ACTIVITY_KIND_HOST_LAUNCH};
      if (wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
          (again && std::ranges::any_of(in_the_way, [](auto each) { return wants(each); }))) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
      }
      break;
    }
    case CUPTI_ACTIVITY_KIND_PCIE:
      if (version() < 130200) pcie_breaks_profiler();
      break;
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      if (wants(CUPTI_ACTIVITY_KIND_KERNEL)) return CUPTI_ERROR_NOT_COMPATIBLE;
      if (cupti().subscribed_late.exchange(false) &&
          (wants(CUPTI_ACTIVITY_KIND_MEMCPY) || wants(CUPTI_ACTIVITY_KIND_MEMSET))) {
        return CUPTI_SUCCESS;  // measured: then there often are no kernels
      }
      break;
    case CUPTI_ACTIVITY_KIND_ENVIRONMENT:
      if (!cupti().driver_up.load()) return CUPTI_ERROR_NOT_COMPATIBLE;
      break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      if (!cupti().driver_up.load()) return CUPTI_ERROR_NOT_READY;
      break;
    default: break;
  }
  forget_wishes(kind);
  cupti().enabled[number].store(true);
  if (number == CUPTI_ACTIVITY_KIND_ENVIRONMENT) {
    CUpti_ActivityEnvironment record{};
    record.timestamp = timestamp();
    record.environmentKind = CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE;
    record.data.temperature.gpuTemperature = 41;
    append(CUPTI_ACTIVITY_KIND_ENVIRONMENT, &record);
  }
  return CUPTI_SUCCESS;
}

// Set before the driver is up, as the documentation asks.
[[maybe_unused]] CUptiResult choose(std::atomic<bool>& choice, std::uint8_t enabled) {
  if (cupti().driver_up.load()) return CUPTI_ERROR_NOT_COMPATIBLE;
  choice.store(enabled != 0);
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD(static_cast<long>(kind));
  return enable(kind);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD(static_cast<long>(kind));
  if (static_cast<std::size_t>(kind) >= kinds) return CUPTI_ERROR_INVALID_KIND;
  forget_wishes(kind);
  cupti().enabled[kind].store(false);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableLatencyTimestamps(std::uint8_t enabled) {
  FAIL_IF_TOLD();
  return choose(cupti().latency_timestamps, enabled);
}

CUptiResult cuptiActivityEnableAllocationSource(std::uint8_t enabled) {
  FAIL_IF_TOLD();
  return choose(cupti().allocation_source, enabled);
}

// As seen with 13.0 and 13.5: the former wants the driver to be up, the latter says what it cannot
// do when that is.
CUptiResult cuptiActivityEnableHWTrace(std::uint8_t enabled) {
  FAIL_IF_TOLD();
  const bool up = cupti().driver_up.load();
  if (!up && version() < 130300) return CUPTI_ERROR_NOT_INITIALIZED;
  const CUptiResult refusal = up ? hardware_tracing_refusal(0) : CUPTI_SUCCESS;
  if (refusal == CUPTI_SUCCESS) cupti().hardware_tracing.store(enabled != 0);
  return refusal;
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD(static_cast<long>(kind));
  const CUptiResult result = enable(kind);
  if (result != CUPTI_SUCCESS) return result;
  std::vector<std::uint32_t> devices;
  std::map<std::uint32_t, std::uint32_t> contexts;
  {
    const std::lock_guard lock(cupti().mutex);
    devices = cupti().devices;
    contexts = cupti().contexts;
  }
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_DEVICE:
      for (const std::uint32_t device : devices) write_device(device);
      break;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      for (const auto& [id, device] : contexts) write_context(id, device);
      break;
    case CUPTI_ACTIVITY_KIND_STREAM:
      for (const auto& [id, device] : contexts) write_stream(id);
      break;
    default: break;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, std::uint8_t enabled) {
  FAIL_IF_TOLD(static_cast<long>(id));
  if (id >= cbids) return CUPTI_ERROR_INVALID_PARAMETER;
  cupti().runtime_wish[id].store(enabled ? on : off);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, std::uint8_t enabled) {
  FAIL_IF_TOLD(static_cast<long>(id));
  if (id >= cbids) return CUPTI_ERROR_INVALID_PARAMETER;
  cupti().driver_wish[id].store(enabled ? on : off);
  return CUPTI_SUCCESS;
}

}  // extern "C"
