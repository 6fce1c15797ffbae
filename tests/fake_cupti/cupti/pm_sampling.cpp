// The stand-in's PM sampling. A device takes a sample each interval from Start on, whichever
// process uses it, and its counts depend on the time alone: see pm_blocks.
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "tests/fake_cupti/cupti/images.hpp"
#include "tests/fake_cupti/cupti/metrics.hpp"
#include "tests/fake_cupti/cupti/params.hpp"
#include "tests/fake_cupti/cupti/profiling.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"

using namespace fake;

namespace {

// What a sample takes of the device's buffer.
constexpr std::uint64_t sample_bytes = 1024;
// Of the system clock.
constexpr std::uint64_t cycle_ns = 2;
constexpr std::size_t most_devices = 16;

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// 1000 blocks in a sample that begins in an even 10 ms of the clock, none in others.
std::uint64_t pm_blocks(std::uint64_t start) { return start / 10'000'000 % 2 == 0 ? 1000 : 0; }

}  // namespace

// One device's. Members are guarded by the mutex.
struct CUpti_PmSampling_Object {
  std::mutex mutex;
  std::uint32_t device = 0;
  bool enabled = false;
  bool started = false;
  std::optional<Plan> plan;
  std::uint32_t chip = 0;
  std::uint64_t interval = 0;  // ns
  std::uint64_t capacity = 0;  // samples in the buffer
  bool keep_latest = false;
  std::uint64_t enabled_at = 0;
  std::uint64_t next_start = 0;          // of the next sample that is decoded
  std::uint64_t end = 0;                 // no sample ends later; 0: it goes on
  bool first = false;                    // the next one is the first since Start
  bool overflowed = false;               // nothing more comes of it until it is disabled
  const std::uint8_t* config = nullptr;  // as it was given
};

namespace {

CUpti_PmSampling_Object& of_device(std::size_t device) {
  static auto* const all = new std::array<CUpti_PmSampling_Object, most_devices>;
  return (*all)[device % most_devices];
}

// Samples that are over by now.
std::uint64_t waiting(const CUpti_PmSampling_Object& object) {
  const std::uint64_t until = object.end ? object.end : now();
  return until > object.next_start ? (until - object.next_start) / object.interval : 0;
}

}  // namespace

extern "C" {

CUptiResult cuptiPmSamplingGetCounterAvailability(
    CUpti_PmSampling_GetCounterAvailability_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_GetCounterAvailability_Params);
  constexpr std::size_t size = 8;
  if (params->pCounterAvailabilityImage) {
    if (params->counterAvailabilityImageSize < size) return CUPTI_ERROR_INVALID_PARAMETER;
    std::memset(params->pCounterAvailabilityImage, 1, size);
  }
  params->counterAvailabilityImageSize = size;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* params) {
  TROUBLE_IF_TOLD(static_cast<long>(params ? params->deviceIndex : 0));
  EXPECT_SIZE(CUpti_PmSampling_Enable_Params);
  CUpti_PmSampling_Object& object = of_device(params->deviceIndex);
  const std::lock_guard lock(object.mutex);
  if (object.enabled) return CUPTI_ERROR_INVALID_OPERATION;
  object.device = static_cast<std::uint32_t>(params->deviceIndex);
  object.enabled = true;
  object.overflowed = false;
  object.enabled_at = now();
  params->pPmSamplingObject = &object;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_Disable_Params);
  if (!params->pPmSamplingObject) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(params->pPmSamplingObject->mutex);
  params->pPmSamplingObject->enabled = params->pPmSamplingObject->started = false;
  params->pPmSamplingObject->plan.reset();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_SetConfig_Params);
  const auto config = read_image<ConfigImage>(params->pConfig, params->configSize);
  if (!params->pPmSamplingObject || !config || params->samplingInterval == 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (config->plan.passes != 1) return CUPTI_ERROR_NOT_SUPPORTED;
  CUpti_PmSampling_Object& object = *params->pPmSamplingObject;
  const std::lock_guard lock(object.mutex);
  if (!object.enabled || object.started) return CUPTI_ERROR_INVALID_OPERATION;
  object.plan = config->plan;
  object.config = params->pConfig;
  object.chip = config->chip;
  object.interval = params->samplingInterval;
  if (params->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL) {
    object.interval *= cycle_ns;
  }
  object.capacity = params->hardwareBufferSize / sample_bytes;
  object.keep_latest =
      params->hwBufferAppendMode == CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_Start_Params);
  CUpti_PmSampling_Object* object = params->pPmSamplingObject;
  if (!object) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(object->mutex);
  if (!object->plan || object->started) return CUPTI_ERROR_INVALID_OPERATION;
  if (object->overflowed) return CUPTI_ERROR_UNKNOWN;  // as seen in NVIDIA's
  object->started = object->first = true;
  object->end = 0;
  object->next_start = now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_Stop_Params);
  CUpti_PmSampling_Object* object = params->pPmSamplingObject;
  if (!object) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(object->mutex);
  if (!object->started) return CUPTI_ERROR_INVALID_OPERATION;
  object->started = false;
  object->end = now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_GetCounterDataSize_Params);
  if (!params->pPmSamplingObject || params->numMetrics == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  params->counterDataSize = CounterDataImage::size(params->maxSamples);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataImageInitialize(
    CUpti_PmSampling_CounterDataImage_Initialize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_CounterDataImage_Initialize_Params);
  const CUpti_PmSampling_Object* object = params->pPmSamplingObject;
  if (!object || !params->pCounterData || params->counterDataSize < CounterDataImage::size(1)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  const CounterDataImage image{
      .chip = object->chip,
      .capacity = static_cast<std::uint32_t>((params->counterDataSize - CounterDataImage::size(0)) /
                                             sizeof(RangeData)),
      .device = object->device};
  std::memcpy(params->pCounterData, &image, sizeof image);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_DecodeData_Params);
  CUpti_PmSampling_Object* object = params->pPmSamplingObject;
  auto image = read_counter_data(params->pCounterDataImage, params->counterDataImageSize);
  if (!object || !image) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(object->mutex);
  if (!object->plan) return CUPTI_ERROR_INVALID_OPERATION;
  // NVIDIA's crashes without it.
  if (!read_image<ConfigImage>(object->config, sizeof(ConfigImage))) std::abort();
  std::uint64_t samples = waiting(*object);
  if (samples > object->capacity) {
    if (object->keep_latest) {
      object->next_start += (samples - object->capacity) * object->interval;
      samples = object->capacity;
    } else {
      object->overflowed = true;
    }
  }
  if (object->overflowed) samples = 0;
  const std::uint64_t room = image->capacity - image->ranges;
  params->decodeStopReason = samples > room ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                            : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  params->overflow = object->overflowed;
  for (samples = std::min(samples, room); samples > 0; --samples) {
    const std::uint64_t start = object->next_start;
    RangeData data;
    data.metrics = object->plan->metrics;
    data.passes = 1;
    data.start = start;
    data.end = start + object->interval;
    data.counts.blocks = pm_blocks(start);
    data.counts.ns = object->interval;
    // The first one spans what was before Start, as seen in NVIDIA's.
    if (object->first) data.start = object->enabled_at;
    object->first = false;
    object->next_start = data.end;
    std::memcpy(params->pCounterDataImage + offset_of_range(image->ranges), &data, sizeof data);
    ++image->ranges;
  }
  std::memcpy(params->pCounterDataImage, &*image, sizeof *image);
  return object->overflowed ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_GetCounterDataInfo_Params);
  const auto image = read_counter_data(params->pCounterDataImage, params->counterDataImageSize);
  if (!image) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numTotalSamples = image->capacity;
  params->numPopulatedSamples = params->numCompletedSamples = image->ranges;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(
    CUpti_PmSampling_CounterData_GetSampleInfo_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_PmSampling_CounterData_GetSampleInfo_Params);
  const auto image = read_counter_data(params->pCounterDataImage, params->counterDataImageSize);
  if (!image || params->sampleIndex >= image->ranges) return CUPTI_ERROR_INVALID_PARAMETER;
  const RangeData data = read_range(params->pCounterDataImage, params->sampleIndex);
  params->startTimestamp = data.start;
  params->endTimestamp = data.end;
  return CUPTI_SUCCESS;
}

}  // extern "C"
