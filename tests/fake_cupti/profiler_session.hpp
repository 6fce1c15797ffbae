// A session of the stand-in's range profiler: the stand-in driver, CUPTI subscribed to it, and one
// context's profiler.
#pragma once

#include <cupti.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"
#include "tests/fake_cupti/stand_in.hpp"

// A function of the stand-in driver, which there is one of in the process.
template <class Function>
Function* of_driver(const char* name) {
  static void* const library =
      dlopen(GPUPROF_BUILD_DIR "/tests/fake/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* found = library ? dlsym(library, name) : nullptr;
  if (!found) throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<Function*>(found);
}
#define CUDA(name) of_driver<decltype(name)>(#name)

struct Kernel {
  std::string name;
  std::uint32_t correlation;
  std::uint64_t start, end;
};

inline std::vector<Kernel>& kernels() {
  static std::vector<Kernel> all;
  return all;
}
inline const StandIn* current = nullptr;

inline void requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *size = 1 << 20;
  *buffer = static_cast<std::uint8_t*>(std::calloc(*size, 1));
  *records = 0;
}

inline void completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                      std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (current->function<decltype(cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord")(
             buffer, valid, &record) == CUPTI_SUCCESS) {
    const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    kernels().push_back({kernel->name, kernel->correlationId, kernel->start, kernel->end});
  }
  std::free(buffer);
}

// CUPTI subscribed to a driver that is up.
class Session : public StandIn {
 public:
  explicit Session(const Environment& environment = {}) : StandIn(environment) {
    const StandIn& cupti = *this;
    CUDA(fake_init)();
    REQUIRE(CUPTI(cuptiSubscribe)(&subscriber_, &called_back, this) == CUPTI_SUCCESS);
    current = this;
    kernels().clear();
    CUPTI(cuptiActivityRegisterCallbacks)(&requested, &completed);
  }
  ~Session() {
    const StandIn& cupti = *this;
    CUDA(fake_context_set)(nullptr);
    CUDA(fake_device_set)(0);
    CUPTI(cuptiUnsubscribe)(subscriber_);
  }

  // What a callback sees of launches, when turned on.
  void watch(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    const StandIn& cupti = *this;
    REQUIRE(CUPTI(cuptiEnableCallback)(1, subscriber_, domain, id) == CUPTI_SUCCESS);
  }
  std::function<void(CUpti_CallbackDomain, CUpti_CallbackId, const CUpti_CallbackData&)> on_call;

 private:
  static void called_back(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void* data) {
    auto& on_call = static_cast<Session*>(self)->on_call;
    if (on_call) on_call(domain, id, *static_cast<const CUpti_CallbackData*>(data));
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
};

using Names = std::vector<const char*>;

// One context's profiler with the metrics it collects. The context is the thread's.
class Profiler {
 public:
  Profiler(const StandIn& stand_in, Names names, std::size_t room = 16, const char* chip = "FAKE1")
      : cupti(stand_in), host(stand_in, chip), metrics(std::move(names)) {
    context = CUDA(fake_context_create)();
    CUDA(fake_context_set)(context);
    PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
    enable.ctx = static_cast<CUcontext>(context);
    REQUIRE(CUPTI(cuptiRangeProfilerEnable)(&enable) == CUPTI_SUCCESS);
    object = enable.pRangeProfilerObject;
    REQUIRE(host.add(metrics) == CUPTI_SUCCESS);
    config = host.config();

    PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = object;
    size.pMetricNames = metrics.data();
    size.numMetrics = metrics.size();
    size.maxNumOfRanges = room;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(room);
    REQUIRE(CUPTI(cuptiRangeProfilerGetCounterDataSize)(&size) == CUPTI_SUCCESS);
    fresh.resize(size.counterDataSize);
    PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, initialize);
    initialize.pRangeProfilerObject = object;
    initialize.counterDataSize = fresh.size();
    initialize.pCounterData = fresh.data();
    REQUIRE(CUPTI(cuptiRangeProfilerCounterDataImageInitialize)(&initialize) == CUPTI_SUCCESS);
    image = fresh;
  }
  ~Profiler() {
    PARAMS(CUpti_RangeProfiler_Disable_Params, params);
    params.pRangeProfilerObject = object;
    CUPTI(cuptiRangeProfilerDisable)(&params);
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  CUptiResult configure(CUpti_ProfilerRange range = CUPTI_AutoRange,
                        CUpti_ProfilerReplayMode replay = CUPTI_UserReplay, std::size_t most = 16) {
    PARAMS(CUpti_RangeProfiler_SetConfig_Params, params);
    params.pRangeProfilerObject = object;
    params.configSize = config.size();
    params.pConfig = config.data();
    params.counterDataImageSize = image.size();
    params.pCounterDataImage = image.data();
    params.range = range;
    params.replayMode = replay;
    params.maxRangesPerPass = most;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    return CUPTI(cuptiRangeProfilerSetConfig)(&params);
  }
  CUptiResult start() {
    PARAMS(CUpti_RangeProfiler_Start_Params, params);
    params.pRangeProfilerObject = object;
    return CUPTI(cuptiRangeProfilerStart)(&params);
  }
  CUptiResult stop() {
    PARAMS(CUpti_RangeProfiler_Stop_Params, params);
    params.pRangeProfilerObject = object;
    const CUptiResult result = CUPTI(cuptiRangeProfilerStop)(&params);
    all_submitted = params.isAllPassSubmitted;
    return result;
  }
  CUptiResult push(const char* name) {
    PARAMS(CUpti_RangeProfiler_PushRange_Params, params);
    params.pRangeProfilerObject = object;
    params.pRangeName = name;
    return CUPTI(cuptiRangeProfilerPushRange)(&params);
  }
  CUptiResult pop() {
    PARAMS(CUpti_RangeProfiler_PopRange_Params, params);
    params.pRangeProfilerObject = object;
    return CUPTI(cuptiRangeProfilerPopRange)(&params);
  }
  // How many ranges were dropped.
  std::size_t decode() {
    PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
    params.pRangeProfilerObject = object;
    REQUIRE(CUPTI(cuptiRangeProfilerDecodeData)(&params) == CUPTI_SUCCESS);
    return params.numOfRangeDropped;
  }

  std::vector<std::string> names() const {
    PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
    info.pCounterDataImage = image.data();
    info.counterDataImageSize = image.size();
    REQUIRE(CUPTI(cuptiRangeProfilerGetCounterDataInfo)(&info) == CUPTI_SUCCESS);
    std::vector<std::string> found;
    for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
      PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, params);
      params.pCounterDataImage = image.data();
      params.counterDataImageSize = image.size();
      params.rangeIndex = i;
      params.rangeDelimiter = "/";
      REQUIRE(CUPTI(cuptiRangeProfilerCounterDataGetRangeInfo)(&params) == CUPTI_SUCCESS);
      found.emplace_back(params.rangeName);
    }
    return found;
  }
  std::vector<double> values(std::size_t range, Names names) const {
    std::vector<double> found(names.size());
    PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
    params.pHostObject = host.object;
    params.pCounterDataImage = image.data();
    params.counterDataImageSize = image.size();
    params.rangeIndex = range;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    params.pMetricValues = found.data();
    REQUIRE(CUPTI(cuptiProfilerHostEvaluateToGpuValues)(&params) == CUPTI_SUCCESS);
    return found;
  }
  std::vector<double> values(std::size_t range) const { return values(range, metrics); }
  double value(std::size_t range) const { return values(range).at(0); }

  const StandIn& cupti;
  Host host;
  Names metrics;
  void* context;
  CUpti_RangeProfiler_Object* object;
  std::vector<std::uint8_t> config, fresh, image;
  bool all_submitted = false;
};
