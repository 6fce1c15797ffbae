#include "tests/fake_cupti/cupti/range_profiler.hpp"

#include <cupti.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/images.hpp"
#include "tests/fake_cupti/cupti/metrics.hpp"
#include "tests/fake_cupti/cupti/params.hpp"
#include "tests/fake_cupti/cupti/profiling.hpp"
#include "tests/fake_cupti/cupti/records.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"

namespace {

struct OpenRange {
  std::string name;
  fake::Counts counts;
};

}  // namespace

// One context's. Members are guarded by the mutex.
struct CUpti_RangeProfiler_Object {
  CUpti_RangeProfiler_Object(const fake::Context& of, std::uint32_t chip_index)
      : context(of.id), device(of.device), instances(of.instances), chip(chip_index) {}

  const std::uint32_t context;
  const std::uint32_t device;
  const std::uint32_t instances;  // of a green context; 0: all
  const std::uint32_t chip;

  std::mutex mutex;
  bool context_is_gone = false;
  bool broken = false;
  bool configured = false;
  bool started = false;
  bool started_before = false;
  std::uint32_t capacity = 0;  // of the counter data image to be initialised

  fake::Plan plan;
  CUpti_ProfilerRange mode{};
  CUpti_ProfilerReplayMode replay{};
  std::size_t max_ranges = 0;
  std::size_t first_level = 1, levels = 1;
  std::uint8_t* image = nullptr;
  std::size_t image_size = 0;

  // Since SetConfig.
  std::uint32_t pass = 0;
  std::uint64_t next_name = 0;   // of an auto range
  std::uint64_t pass_begin = 0;  // its value when this round of passes began
  std::size_t in_this_pass = 0;
  std::size_t decoded = 0;
  std::vector<OpenRange> open;
  std::vector<fake::RangeData> ranges;  // not decoded yet
  std::size_t dropped = 0;
  std::uint64_t seen = 0;  // since Enable
};

namespace fake {
namespace {

using Object = CUpti_RangeProfiler_Object;

constexpr std::uint64_t wait_kernel_ns = 40'000;
// What a user replay pass can count to.
constexpr std::uint32_t most_passes = 63;

// Never destroyed: threads outlive static destructors.
struct Profilers {
  std::atomic<int> started{0};
  std::atomic<bool> works{true};
  std::mutex mutex;
  std::map<std::uint32_t, std::shared_ptr<Object>> of_context;
};

Profilers& all() {
  static Profilers* const it = new Profilers;
  return *it;
}

std::shared_ptr<Object> find(std::uint32_t context) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().of_context.find(context);
  return found == all().of_context.end() ? nullptr : found->second;
}

bool is_profiled(const Object& object) { return object.started && !object.context_is_gone; }

bool is_kernel_replay(const Object& object) { return object.replay == CUPTI_KernelReplay; }

void set_started(Object& object, bool started) {
  if (object.started != started) all().started.fetch_add(started ? 1 : -1);
  object.started = started;
}

void add_to(Counts& counts, const Counts& more) {
  counts.blocks += more.blocks;
  counts.warps += more.warps;
  counts.threads += more.threads;
  counts.ns += more.ns;
}

Counts counts_of(const Work& work) {
  const auto volume = [](const std::uint32_t(&size)[3]) {
    return std::uint64_t{size[0]} * size[1] * size[2];
  };
  Counts counts;
  const std::uint64_t block = volume(work.launch.block);
  counts.blocks = volume(work.launch.grid);
  counts.warps = counts.blocks * ((block + 31) / 32);
  counts.threads = counts.blocks * block;
  counts.ns = work.end - work.start;
  return counts;
}

void add_range(Object& object, const std::string& name, const Counts& counts) {
  const long every = setting("FAKE_CUPTI_DROP_RANGES", 0);
  const bool lost = every > 0 && ++object.seen % static_cast<std::uint64_t>(every) == 0;
  if (lost || object.in_this_pass == object.max_ranges) {
    ++object.dropped;
    return;
  }
  ++object.in_this_pass;
  RangeData range;
  name.copy(range.name, sizeof range.name - 1);
  range.counts = counts;
  range.metrics = object.plan.metrics;
  range.needed = object.plan.passes;
  range.passes = is_kernel_replay(object) ? all_passes(range) : std::uint64_t{1} << object.pass;
  object.ranges.push_back(range);
}

void spin(long us) {
  if (us <= 0) return;
  const std::uint64_t until = timestamp() + static_cast<std::uint64_t>(us) * 1000;
  while (timestamp() < until) continue;
}

void end_session(std::uint32_t context, bool Object::*why) {
  const auto object = find(context);
  if (!object) return;
  const std::lock_guard lock(object->mutex);
  (*object).*why = true;
  set_started(*object, false);
}

}  // namespace

std::uint64_t own_kernel_time(std::uint32_t context) {
  if (all().started.load() == 0) return 0;
  const auto object = find(context);
  if (!object) return 0;
  const std::lock_guard lock(object->mutex);
  return is_profiled(*object) && !is_kernel_replay(*object) ? wait_kernel_ns : 0;
}

void pcie_breaks_profiler() { all().works.store(false); }

void graph_breaks_profiler(std::uint32_t context) { end_session(context, &Object::broken); }

bool profile(const Work& work) {
  if (all().started.load() == 0) return false;
  const auto object = find(work.context);
  if (!object) return false;
  bool without_times;
  {
    const std::lock_guard lock(object->mutex);
    if (!is_profiled(*object)) return false;
    without_times = is_kernel_replay(*object);
    Counts counts = counts_of(work);
    static std::atomic<unsigned> launches{0};
    if (setting("FAKE_CUPTI_UNSTEADY", 0) != 0 && ++launches % 3 == 0) counts.blocks *= 2;
    if (object->mode == CUPTI_AutoRange) {
      add_range(*object, std::to_string(object->next_name++), counts);
    }
    for (OpenRange& range : object->open) add_to(range.counts, counts);
  }
  spin(setting("FAKE_CUPTI_METRIC_COST_US", 0));
  hang_if_told(work.name);
  return without_times;
}

void range_context_destroyed(std::uint32_t context) {
  end_session(context, &Object::context_is_gone);
}

}  // namespace fake

using namespace fake;

namespace {

std::shared_ptr<Object> find(const Object* object) {
  const std::lock_guard lock(all().mutex);
  for (const auto& [context, profiler] : all().of_context) {
    if (profiler.get() == object) return profiler;
  }
  return nullptr;
}

void pause(long ms) {
  if (ms <= 0) return;
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

// The ranges of a first pass go to the end of the image; those of a later pass belong to the first
// one of their name that has not had that pass. False: there is no room, or no such range.
bool write_range(Object& object, CounterDataImage& header, const RangeData& range) {
  std::size_t place = header.ranges;
  RangeData written = range;
  if (range.passes & 1) {
    if (header.ranges == header.capacity) return false;
    ++header.ranges;
    ++object.decoded;
  } else {
    for (place = 0; place < header.ranges; ++place) {
      written = read_range(object.image, place);
      if (!(written.passes & range.passes) && std::strcmp(written.name, range.name) == 0) break;
    }
    if (place == header.ranges) return false;
    written.passes |= range.passes;
  }
  std::memcpy(object.image + offset_of_range(place), &written, sizeof written);
  return true;
}

CUptiResult decode(Object& object, std::size_t& dropped) {
  auto header = read_counter_data(object.image, object.image_size);
  if (!header) return CUPTI_ERROR_INVALID_PARAMETER;
  // Another image than the one that was configured: CUPTI loses its place.
  const bool same = header->ranges == object.decoded;
  for (const RangeData& range : object.ranges) {
    if (!same || !write_range(object, *header, range)) ++object.dropped;
  }
  std::memcpy(object.image, &*header, sizeof *header);
  object.ranges.clear();
  object.in_this_pass = 0;
  dropped = std::exchange(object.dropped, 0);
  return CUPTI_SUCCESS;
}

// What CUPTI does then breaks the capture, and it says "unknown".
bool is_capturing() {
  void* const cuda = driver();
  const auto answer =
      cuda ? reinterpret_cast<IsCapturing>(dlsym(cuda, is_capturing_name)) : nullptr;
  return answer && answer();
}

}  // namespace

// The object that the parameters name, for the rest of the function, locked.
#define LOCK_OBJECT()                                     \
  const auto object = find(params->pRangeProfilerObject); \
  if (!object) return CUPTI_ERROR_INVALID_PARAMETER;      \
  const std::lock_guard lock(object->mutex);              \
  if (object->broken) return CUPTI_ERROR_UNKNOWN;         \
  if (object->context_is_gone) return CUPTI_ERROR_INVALID_CONTEXT

extern "C" {

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
  TROUBLE_IF_TOLD();
  using Params = CUpti_RangeProfiler_Enable_Params;
  const std::size_t old_size = CUPTI_PROFILER_STRUCT_SIZE(Params, pRangeProfilerObject);
  const std::size_t size = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE;
  if (!params || !is_known_size(params->structSize, old_size, size, 130400) || !params->ctx) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const Context context = *context_of(params->ctx);
  const std::lock_guard lock(all().mutex);
  // A device has one object among a context and the green ones made from it.
  for (const auto& [id, other] : all().of_context) {
    if (other->device == context.device && (context.instances > 0 || other->instances > 0)) {
      return CUPTI_ERROR_INVALID_OPERATION;
    }
  }
  auto& object = all().of_context[context.id];
  if (object) return CUPTI_ERROR_INVALID_OPERATION;
  object = std::make_shared<Object>(context, chip_of(context.device));
  params->pRangeProfilerObject = object.get();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_Disable_Params);
  const auto object = find(params->pRangeProfilerObject);
  if (!object) return CUPTI_ERROR_INVALID_PARAMETER;
  {
    const std::lock_guard lock(object->mutex);
    set_started(*object, false);
  }
  const std::lock_guard lock(all().mutex);
  all().of_context.erase(object->context);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(
    CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_GetCounterDataSize_Params);
  LOCK_OBJECT();
  if (!all().works.load()) return CUPTI_ERROR_NOT_INITIALIZED;
  Plan plan;
  if (!params->pMetricNames || params->maxNumOfRanges == 0 ||
      params->maxNumRangeTreeNodes < params->maxNumOfRanges ||
      !add(plan, object->chip, {params->pMetricNames, params->numMetrics})) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  object->capacity = static_cast<std::uint32_t>(params->maxNumOfRanges);
  params->counterDataSize = CounterDataImage::size(object->capacity);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  LOCK_OBJECT();
  if (object->capacity == 0 || !params->pCounterData ||
      params->counterDataSize < CounterDataImage::size(object->capacity)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const CounterDataImage header{
      .chip = object->chip, .capacity = object->capacity, .device = object->device};
  std::memset(params->pCounterData, 0, params->counterDataSize);
  std::memcpy(params->pCounterData, &header, sizeof header);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_SetConfig_Params);
  LOCK_OBJECT();
  if (object->started) return CUPTI_ERROR_INVALID_OPERATION;
  const auto config = read_image<ConfigImage>(params->pConfig, params->configSize);
  const auto image = read_counter_data(params->pCounterDataImage, params->counterDataImageSize);
  const bool user = params->range == CUPTI_UserRange;
  if (!config || !image || config->chip != object->chip || image->chip != object->chip ||
      config->plan.passes > most_passes || (!user && params->range != CUPTI_AutoRange) ||
      params->replayMode <= CUPTI_Replay_INVALID || params->replayMode >= CUPTI_Replay_COUNT ||
      (user && params->replayMode == CUPTI_KernelReplay) || params->maxRangesPerPass == 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  object->plan = config->plan;
  object->mode = params->range;
  object->replay = params->replayMode;
  object->max_ranges = params->maxRangesPerPass;
  object->first_level = std::max<std::size_t>(1, params->minNestingLevel);
  object->levels = std::max<std::size_t>(1, params->numNestingLevels);
  object->image = params->pCounterDataImage;
  object->image_size = params->counterDataImageSize;
  object->pass = static_cast<std::uint32_t>(params->passIndex % config->plan.passes);
  object->next_name = object->pass_begin = 0;
  object->in_this_pass = 0;
  // Later passes of an application replay go on with the image of the first one.
  object->decoded = object->pass == 0 ? 0 : image->ranges;
  object->open.clear();
  object->ranges.clear();
  object->dropped = 0;
  object->configured = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_Start_Params);
  LOCK_OBJECT();
  if (!object->configured || object->started) return CUPTI_ERROR_INVALID_OPERATION;
  if (is_capturing()) return CUPTI_ERROR_UNKNOWN;
  pause(start_cost_ms(std::exchange(object->started_before, true)));
  set_started(*object, true);
  return CUPTI_SUCCESS;
}

// As seen with 13.5: a context that has all of the device has no information, and a green one has
// it only after Start.
CUptiResult cuptiRangeProfilerGetDevicePartitionInfo(
    CUpti_RangeProfiler_GetDevicePartitionInfo_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_GetDevicePartitionInfo_Params);
  LOCK_OBJECT();
  if (object->instances == 0 || version() < 130300) {
    params->devicePartitionInfoSize = 0;
    return CUPTI_SUCCESS;
  }
  if (!object->started) return CUPTI_ERROR_INVALID_PARAMETER;
  const PartitionInfo info{.instances = object->instances};
  if (params->pDevicePartitionInfo) {
    if (params->devicePartitionInfoSize < sizeof info) return CUPTI_ERROR_INVALID_PARAMETER;
    std::memcpy(params->pDevicePartitionInfo, &info, sizeof info);
  }
  params->devicePartitionInfoSize = sizeof info;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_Stop_Params);
  LOCK_OBJECT();
  if (!object->started) return CUPTI_ERROR_INVALID_OPERATION;
  if (is_capturing()) return CUPTI_ERROR_UNKNOWN;
  set_started(*object, false);
  object->open.clear();
  const bool last = is_kernel_replay(*object) || object->pass + 1 == object->plan.passes;
  if (last) {
    object->pass_begin = object->next_name;
    object->pass = 0;
  } else {
    object->next_name = object->pass_begin;
    ++object->pass;
  }
  // Passes that follow one another have room for as many ranges each.
  if (object->plan.passes > 1 && !is_kernel_replay(*object)) object->in_this_pass = 0;
  params->passIndex = object->pass;
  params->targetNestingLevel = object->first_level;
  params->isAllPassSubmitted = last;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_PushRange_Params);
  LOCK_OBJECT();
  if (!object->started || object->mode != CUPTI_UserRange) return CUPTI_ERROR_INVALID_OPERATION;
  if (!params->pRangeName) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::string outer = object->open.empty() ? "" : object->open.back().name + "/";
  object->open.push_back({outer + params->pRangeName, {}});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_PopRange_Params);
  LOCK_OBJECT();
  if (object->open.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  const std::size_t level = object->open.size();
  if (level >= object->first_level && level < object->first_level + object->levels) {
    add_range(*object, object->open.back().name, object->open.back().counts);
  }
  object->open.pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_DecodeData_Params);
  LOCK_OBJECT();
  if (!object->configured || object->started) return CUPTI_ERROR_INVALID_OPERATION;
  return decode(*object, params->numOfRangeDropped);
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(
    CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_GetCounterDataInfo_Params);
  const auto image = read_counter_data(params->pCounterDataImage, params->counterDataImageSize);
  if (!image) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numTotalRanges = image->ranges;
  return CUPTI_SUCCESS;
}

// The name lies in the image.
CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
  const auto image = read_counter_data(params->pCounterDataImage, params->counterDataImageSize);
  if (!image || params->rangeIndex >= image->ranges) return CUPTI_ERROR_INVALID_PARAMETER;
  params->rangeName = reinterpret_cast<const char*>(params->pCounterDataImage) +
                      offset_of_range(params->rangeIndex) + offsetof(RangeData, name);
  return CUPTI_SUCCESS;
}

}  // extern "C"
