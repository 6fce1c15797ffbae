#include "tests/fake_cupti/cupti/sass_metrics.hpp"

#include <cupti.h>
#include <cupti_sass_metrics.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/fake_cupti/cupti/params.hpp"
#include "tests/fake_cupti/cupti/pc_sampling.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"
#include "tests/fake_cupti/cupti/state.hpp"

namespace {

using namespace fake;

struct Metric {
  std::uint64_t id;
  const char* name;
  const char* description;
};
[[maybe_unused]] constexpr std::array metrics{
    Metric{901, "smsp__sass_inst_executed", "# of warp instructions executed"},
    Metric{17, "smsp__sass_thread_inst_executed", "# of thread instructions executed"},
    Metric{18, "smsp__sass_thread_inst_executed_pred_on", "# of those with true predicates"},
    Metric{0, "smsp__sass_inst_executed_op_global", "# of global instructions"},
    Metric{31, "smsp__sass_inst_executed_op_global_ld", "# of global loads"},
    Metric{32, "smsp__sass_sectors_mem_global", "# of sectors"},
    Metric{33, "smsp__sass_sectors_mem_global_ideal", "# of sectors at best"},
    Metric{41, "smsp__sass_inst_executed_op_shared", "# of shared instructions"},
    Metric{42, "smsp__sass_inst_executed_op_shared_ld", "# of shared loads"},
    Metric{43, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared", "# of wavefronts"},
    Metric{44, "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal", "# of these at best"},
    Metric{51, "smsp__sass_inst_executed_op_branch", "# of branches"},
    Metric{52, "smsp__sass_branch_targets_threads_divergent", "# of divergent branches"},
    Metric{53, "smsp__sass_branch_targets_threads_uniform", "# of other branches"},
    Metric{99, "smsp__sass_inst_executed_op_tma", "# of TMA instructions"},
};

// What an instruction counts when two warps execute it.
struct Count {
  std::uint64_t offset;
  std::uint64_t metric;
  std::uint64_t value;
};
constexpr std::array counts{
    Count{0x00, 901, 2},
    Count{0x00, 17, 64},
    Count{0x00, 18, 64},
    // A load whose threads need a sector each.
    Count{0x10, 901, 2},
    Count{0x10, 17, 64},
    Count{0x10, 18, 64},
    Count{0x10, 0, 2},
    Count{0x10, 31, 2},
    Count{0x10, 32, 64},
    Count{0x10, 33, 8},
    // A store into shared memory, by half of the threads, with conflicts.
    Count{0x20, 901, 2},
    Count{0x20, 17, 64},
    Count{0x20, 18, 32},
    Count{0x20, 41, 2},
    Count{0x20, 43, 16},
    Count{0x20, 44, 2},
    // A branch at which one of two warps diverges.
    Count{0x40, 901, 2},
    Count{0x40, 17, 64},
    Count{0x40, 18, 64},
    Count{0x40, 51, 2},
    Count{0x40, 52, 1},
    Count{0x40, 53, 1},
    // One that does nothing.
    Count{0x60, 901, 2},
    Count{0x60, 17, 64},
};

// Sum of the cubin, function, instruction.
using Place = std::tuple<std::uint64_t, std::string, std::uint64_t>;

struct Counter {
  std::uint32_t id = 0;
  std::uint32_t device = 0;
  bool enabled = false;
  std::map<Place, std::map<std::uint64_t, std::uint64_t>> waiting;
};

// Never destroyed: threads outlive static destructors.
struct State {
  std::mutex mutex;  // guards the rest
  std::map<void*, Counter> contexts;
  std::map<std::uint32_t, std::vector<std::uint64_t>> configs;  // metrics, by device
};
State& state() {
  static State* const it = new State;
  return *it;
}

// Under the mutex. Whether anything counts it.
bool count(const Work& work) {
  bool counted = false;
  for (auto& [context, counter] : state().contexts) {
    if (!counter.enabled || counter.id != work.context) continue;
    counted = true;
    std::uint64_t blocks = 1;
    std::uint64_t threads = 1;
    for (int i = 0; i < 3; ++i) {
      blocks *= work.launch.grid[i];
      threads *= work.launch.block[i];
    }
    const std::uint64_t pairs = blocks * threads / 64;
    const std::uint64_t cubin = sum_of_function(work.name);
    for (const Count& count : counts) {
      counter.waiting[{cubin, work.name, count.offset}][count.metric] += count.value * pairs;
    }
  }
  return counted;
}

}  // namespace

namespace fake {

void sass_context_created(void* context, std::uint32_t id, std::uint32_t device) {
  const std::lock_guard lock(state().mutex);
  Counter& counter = state().contexts[context];
  counter = {};
  counter.id = id;
  counter.device = device;
}

void sass_context_destroyed(void* context) {
  const std::lock_guard lock(state().mutex);
  state().contexts.erase(context);
}

// As on an H200 with CUPTI 13.5: when the callback comes, nothing is left.
void sass_module_unloaded(void* context) {
  const std::lock_guard lock(state().mutex);
  if (const auto found = state().contexts.find(context); found != state().contexts.end()) {
    found->second.waiting.clear();
  }
}

void count_instructions(const Work& work) {
  // As on an H200 with CUPTI 13.5. With KERNEL as well, many launches without a wait in between
  // would hang.
  const bool copies = wants(CUPTI_ACTIVITY_KIND_MEMCPY) || wants(CUPTI_ACTIVITY_KIND_MEMSET);
  if (wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  if (copies && !wants(CUPTI_ACTIVITY_KIND_KERNEL)) return;
  bool counted = false;
  {
    const std::lock_guard lock(state().mutex);
    counted = count(work);
  }
  if (counted) hang_if_told(work.name);
}

}  // namespace fake

namespace {

// Null: nothing is counted in it.
Counter* enabled(void* context) {
  const auto found = state().contexts.find(context);
  return found == state().contexts.end() || !found->second.enabled ? nullptr : &found->second;
}

bool lacks(const char* name) {
  const char* text = std::getenv("FAKE_CUPTI_SASS_LACKS");
  return text && std::string_view(name).find(text) != std::string_view::npos;
}

std::vector<Metric> there() {
  std::vector<Metric> all;
  for (const Metric& metric : metrics) {
    if (!lacks(metric.name)) all.push_back(metric);
  }
  return all;
}

// As CUPTI 13.5 wants it.
bool has_current_context() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = driver ? dlsym(driver, "fake_has_current_context") : nullptr;
  return found && reinterpret_cast<int (*)()>(found)() != 0;
}

}  // namespace

extern "C" {

CUptiResult cuptiSassMetricsGetNumOfMetrics(CUpti_SassMetrics_GetNumOfMetrics_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_SassMetrics_GetNumOfMetrics_Params);
  if (!params->pChipName || !*params->pChipName) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numOfMetrics = there().size();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsGetMetrics(CUpti_SassMetrics_GetMetrics_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_SassMetrics_GetMetrics_Params);
  const auto all = there();
  if (!params->pMetricsList || params->numOfMetrics != all.size()) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    params->pMetricsList[i] = {all[i].id, all[i].name, all[i].description};
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsSetConfig(CUpti_SassMetricsSetConfig_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_SassMetricsSetConfig_Params);
  if (!has_current_context()) return CUPTI_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(state().mutex);
  const auto [config, fresh] = state().configs.try_emplace(params->deviceIndex);
  if (!fresh)
    return config->second.empty() ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_ERROR_INVALID_OPERATION;
  for (std::size_t i = 0; i < params->numOfMetricConfig; ++i) {
    if (params->pConfigs[i].outputGranularity != CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    config->second.push_back(params->pConfigs[i].metricId);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsUnsetConfig(CUpti_SassMetricsUnsetConfig_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_SassMetricsUnsetConfig_Params);
  const std::lock_guard lock(state().mutex);
  for (const auto& [context, counter] : state().contexts) {
    if (counter.enabled && counter.device == params->deviceIndex) {
      return CUPTI_ERROR_INVALID_OPERATION;
    }
  }
  const auto found = state().configs.find(params->deviceIndex);
  if (found == state().configs.end() || found->second.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  found->second.clear();  // it takes no other, as 13.5 on an H200
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsEnable(CUpti_SassMetricsEnable_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_SassMetricsEnable_Params);
  const std::lock_guard lock(state().mutex);
  const auto found = state().contexts.find(params->ctx);
  if (found == state().contexts.end()) return CUPTI_ERROR_INVALID_CONTEXT;
  Counter& counter = found->second;
  const bool refused = setting("FAKE_CUPTI_SASS_REFUSE", 0) != 0;
  if (refused || counter.enabled || !state().configs.contains(counter.device)) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  counter.enabled = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsDisable(CUpti_SassMetricsDisable_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_SassMetricsDisable_Params);
  const std::lock_guard lock(state().mutex);
  Counter* const counter = enabled(params->ctx);
  if (!counter) return CUPTI_ERROR_INVALID_OPERATION;
  params->numOfDroppedRecords = counter->waiting.size();
  counter->waiting.clear();
  counter->enabled = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsGetDataProperties(CUpti_SassMetricsGetDataProperties_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_SassMetricsGetDataProperties_Params);
  const std::lock_guard lock(state().mutex);
  Counter* const counter = enabled(params->ctx);
  if (!counter) return CUPTI_ERROR_INVALID_OPERATION;
  params->numOfPatchedInstructionRecords = counter->waiting.size();
  params->numOfInstances = state().configs[counter->device].size();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSassMetricsFlushData(CUpti_SassMetricsFlushData_Params* params) {
  TROUBLE_IF_TOLD();
  // NVIDIA's size ends before the last member.
  EXPECT_SIZE(CUpti_SassMetricsFlushData_Params);
  const std::lock_guard lock(state().mutex);
  Counter* const counter = enabled(params->ctx);
  if (!counter) return CUPTI_ERROR_INVALID_OPERATION;
  const auto& config = state().configs[counter->device];
  if (params->numOfInstances != config.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  for (std::size_t i = 0; i < params->numOfPatchedInstructionRecords; ++i) {
    if (counter->waiting.empty()) break;
    const auto entry = counter->waiting.extract(counter->waiting.begin());
    const auto& [cubin, function, offset] = entry.key();
    CUpti_SassMetrics_Data& data = params->pMetricsData[i];
    data.cubinCrc = static_cast<std::uint32_t>(cubin);
    data.functionIndex = 1;
    data.functionName = strdup(function.c_str());  // the client's to free
    data.pcOffset = static_cast<std::uint32_t>(offset);
    for (std::size_t j = 0; j < config.size(); ++j) {
      const auto value = entry.mapped().find(config[j]);
      data.pInstanceValues[j] = {config[j], value == entry.mapped().end() ? 0 : value->second};
    }
  }
  return CUPTI_SUCCESS;
}

}  // extern "C"
