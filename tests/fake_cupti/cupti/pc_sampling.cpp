#include "tests/fake_cupti/cupti/pc_sampling.hpp"

#include <cupti.h>
#include <cupti_pcsampling.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/fake_cupti/cupti/settings.hpp"

namespace {

using namespace fake;

struct Reason {
  std::uint32_t index;
  const char* name;
};
[[maybe_unused]] constexpr std::array reasons{
    Reason{0, "smsp__pcsamp_sample_count"},
    Reason{3, "smsp__pcsamp_warps_issue_stalled_selected"},
    Reason{4, "smsp__pcsamp_warps_issue_stalled_selected_not_issued"},
    Reason{7, "smsp__pcsamp_warps_issue_stalled_long_scoreboard"},
    Reason{8, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"},
    Reason{11, "smsp__pcsamp_warps_issue_stalled_barrier"},
    Reason{12, "smsp__pcsamp_warps_issue_stalled_barrier_not_issued"},
    Reason{15, "smsp__pcsamp_warps_issue_stalled_not_selected"},
    Reason{16, "smsp__pcsamp_warps_issue_stalled_not_selected_not_issued"},
};

// Of one launch.
struct Sample {
  std::uint64_t offset;
  std::uint32_t reason;
  std::uint32_t count;
};
constexpr std::array launch_samples{
    Sample{0x10, 0, 60}, Sample{0x10, 3, 2},   Sample{0x20, 7, 40},  Sample{0x20, 8, 30},
    Sample{0x20, 15, 5}, Sample{0x40, 11, 12}, Sample{0x40, 12, 12}, Sample{0x60, 3, 1},
};

// What makes a record: correlation id, sum of the cubin, function, address.
using Place = std::tuple<std::uint32_t, std::uint64_t, const char*, std::uint64_t>;

struct Sampler {
  std::uint32_t id = 0;
  std::uint32_t device = 0;
  bool enabled = false;
  bool configured = false;
  bool stuck = false;  // a kernel was launched between the two, as on an H200 with CUPTI 13.5
  bool serialized = false;
  std::uint32_t period = 12;
  std::vector<std::uint32_t> wanted;  // reasons; empty: all
  CUpti_PCSamplingData* buffer = nullptr;
  std::map<Place, std::map<std::uint32_t, std::uint32_t>> waiting;
  std::uint64_t total = 0;
  std::uint64_t dropped = 0;
  long drains = 0;
  long refused = 0;
};

struct Cubin {
  std::uint64_t sum;
  std::string bytes;
};

// Never destroyed: threads outlive static destructors.
struct State {
  std::mutex mutex;  // guards the rest
  std::map<void*, Sampler> contexts;
  std::map<std::uint32_t, Cubin> cubins;  // by module
};
State& state() {
  static State* const it = new State;
  return *it;
}

std::uint64_t sum_of(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce4;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x01000193 & 0xffffffff;
  return sum;
}

// Under the mutex.
std::uint64_t loaded_sum(const char* name) {
  const std::string section = ".text." + std::string(name) + '\0';
  for (auto cubin = state().cubins.rbegin(); cubin != state().cubins.rend(); ++cubin) {
    if (cubin->second.bytes.find(section) != std::string::npos) return cubin->second.sum;
  }
  return 0;
}

// Null: it is not sampled.
[[maybe_unused]] Sampler* enabled(void* context) {
  const auto found = state().contexts.find(context);
  return found == state().contexts.end() || !found->second.enabled ? nullptr : &found->second;
}

// Fills the client's buffer with what waits, as far as it goes.
[[maybe_unused]] void hand_out(Sampler& sampler, CUpti_PCSamplingData& data) {
  data.totalSamples = std::exchange(sampler.total, 0);
  data.droppedSamples = std::exchange(sampler.dropped, 0);
  data.nonUsrKernelsTotalSamples = 0;
  data.hardwareBufferFull = 0;
  data.rangeId = 0;
  data.totalNumPcs = 0;
  while (!sampler.waiting.empty() && data.totalNumPcs < data.collectNumPcs) {
    const auto entry = sampler.waiting.extract(sampler.waiting.begin());
    const auto& [correlation, cubin, function, offset] = entry.key();
    CUpti_PCSamplingPCData& pc = data.pPcData[data.totalNumPcs++];
    pc.cubinCrc = cubin;
    pc.pcOffset = offset;
    pc.functionIndex = 1;
    pc.functionName = const_cast<char*>(function);
    pc.correlationId = correlation;
    pc.stallReasonCount = 0;
    for (const auto& [reason, count] : entry.mapped()) {
      pc.stallReason[pc.stallReasonCount++] = {reason, count};
    }
  }
  data.remainingNumPcs = sampler.waiting.size();
}

}  // namespace

namespace fake {

void pc_context_created(void* context, std::uint32_t id, std::uint32_t device) {
  const std::lock_guard lock(state().mutex);
  Sampler& sampler = state().contexts[context];
  sampler = {};
  sampler.id = id;
  sampler.device = device;
}

void pc_context_destroyed(void* context) {
  const std::lock_guard lock(state().mutex);
  state().contexts.erase(context);
}

void note_cubin(std::uint32_t module, const void* cubin, std::size_t size) {
  const std::string bytes(static_cast<const char*>(cubin), size);
  const std::lock_guard lock(state().mutex);
  state().cubins[module] = {sum_of(bytes), bytes};
}

void forget_cubin(std::uint32_t module) {
  const std::lock_guard lock(state().mutex);
  state().cubins.erase(module);
}

std::uint64_t sum_of_function(const char* name) {
  const std::lock_guard lock(state().mutex);
  return loaded_sum(name);
}

void sample(const Work& work) {
  const std::lock_guard lock(state().mutex);
  for (auto& [context, sampler] : state().contexts) {
    if (!sampler.enabled || sampler.id != work.context) continue;
    if (!sampler.configured) sampler.stuck = true;
    // Launches of a graph give none then.
    if (sampler.serialized && work.graph_node != 0) continue;
    const std::uint64_t cubin = loaded_sum(work.name);
    for (const Sample& one : launch_samples) {
      // Those that were not issued are among the others.
      const bool counted = one.reason != 0 && one.reason != 8 && one.reason != 12;
      if (counted) sampler.total += one.count;
      const bool wanted = sampler.wanted.empty() ||
                          std::ranges::find(sampler.wanted, one.reason) != sampler.wanted.end();
      if (!wanted) continue;
      sampler.waiting[{sampler.serialized ? work.correlation : 0, cubin, work.name, one.offset}]
                     [one.reason] += one.count;
    }
    const auto dropped = static_cast<std::uint64_t>(setting("FAKE_CUPTI_PC_DROP", 0));
    sampler.dropped += dropped;
    sampler.total += dropped;
  }
}

}  // namespace fake

#define EXPECT_PC_SIZE(type) \
  if (!params || params->size != type##Size) return CUPTI_ERROR_INVALID_PARAMETER

extern "C" {

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_PCSamplingEnableParams);
  std::unique_lock lock(state().mutex);
  const auto found = state().contexts.find(params->ctx);
  if (found == state().contexts.end()) return CUPTI_ERROR_INVALID_CONTEXT;
  if (found->second.refused++ < setting("FAKE_CUPTI_PC_REFUSE", 0)) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  // One context of a device at a time.
  for (const auto& [context, sampler] : state().contexts) {
    if (sampler.enabled && sampler.device == found->second.device) {
      return CUPTI_ERROR_INVALID_OPERATION;
    }
  }
  found->second.enabled = true;
  found->second.configured = false;
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(setting("FAKE_CUPTI_PC_SLOW_MS", 0)));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_PCSamplingDisableParams);
  const std::lock_guard lock(state().mutex);
  Sampler* const sampler = enabled(params->ctx);
  if (!sampler || sampler->stuck) return CUPTI_ERROR_INVALID_OPERATION;
  if (sampler->buffer) hand_out(*sampler, *sampler->buffer);
  sampler->enabled = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_PCSamplingGetNumStallReasonsParams);
  *params->numStallReasons = reasons.size();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_PCSamplingGetStallReasonsParams);
  if (params->numStallReasons != reasons.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    params->stallReasonIndex[i] = reasons[i].index;
    std::strncpy(params->stallReasons[i], reasons[i].name, CUPTI_STALL_REASON_STRING_SIZE - 1);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingSetConfigurationAttribute(
    CUpti_PCSamplingConfigurationInfoParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_PCSamplingConfigurationInfoParams);
  const std::lock_guard lock(state().mutex);
  Sampler* const sampler = enabled(params->ctx);
  if (!sampler || sampler->stuck) return CUPTI_ERROR_INVALID_OPERATION;
  sampler->configured = true;
  for (std::size_t i = 0; i < params->numAttributes; ++i) {
    CUpti_PCSamplingConfigurationInfo& info = params->pPCSamplingConfigurationInfo[i];
    info.attributeStatus = CUPTI_SUCCESS;
    switch (info.attributeType) {
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
        sampler->serialized = info.attributeData.collectionModeData.collectionMode ==
                              CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
        break;
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON:
        sampler->wanted.assign(info.attributeData.stallReasonData.pStallReasonIndex,
                               info.attributeData.stallReasonData.pStallReasonIndex +
                                   info.attributeData.stallReasonData.stallReasonCount);
        break;
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
        sampler->buffer = static_cast<CUpti_PCSamplingData*>(
            info.attributeData.samplingDataBufferData.samplingDataBuffer);
        break;
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
        sampler->period = info.attributeData.samplingPeriodData.samplingPeriod;
        break;
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE: break;
      default: info.attributeStatus = CUPTI_ERROR_INVALID_PARAMETER;
    }
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetConfigurationAttribute(
    CUpti_PCSamplingConfigurationInfoParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_PCSamplingConfigurationInfoParams);
  const std::lock_guard lock(state().mutex);
  Sampler* const sampler = enabled(params->ctx);
  if (!sampler) return CUPTI_ERROR_INVALID_OPERATION;
  for (std::size_t i = 0; i < params->numAttributes; ++i) {
    CUpti_PCSamplingConfigurationInfo& info = params->pPCSamplingConfigurationInfo[i];
    if (info.attributeType != CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD) {
      return CUPTI_ERROR_INVALID_OPERATION;
    }
    info.attributeStatus = CUPTI_SUCCESS;
    info.attributeData.samplingPeriodData.samplingPeriod = sampler->period;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_PCSamplingGetDataParams);
  const std::lock_guard lock(state().mutex);
  Sampler* const sampler = enabled(params->ctx);
  auto* const data = static_cast<CUpti_PCSamplingData*>(params->pcSamplingData);
  if (!sampler || !data) return CUPTI_ERROR_INVALID_OPERATION;
  if (data->size != sizeof *data) return CUPTI_ERROR_INVALID_PARAMETER;
  if (setting("FAKE_CUPTI_PC_FULL", 0) == ++sampler->drains) {
    // What the device had no room for is gone.
    data->totalSamples = data->droppedSamples = data->nonUsrKernelsTotalSamples = 0;
    data->totalNumPcs = data->remainingNumPcs = 0;
    data->hardwareBufferFull = 1;
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  hand_out(*sampler, *data);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams* params) {
  FAIL_IF_TOLD();
  EXPECT_PC_SIZE(CUpti_GetCubinCrcParams);
  if (!params->cubin || params->cubinSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  params->cubinCrc = sum_of({static_cast<const char*>(params->cubin), params->cubinSize});
  return CUPTI_SUCCESS;
}

}  // extern "C"
