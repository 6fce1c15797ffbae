// CUPTI through dlopen and dlsym. Nothing links libcupti, so one collector works with every
// version.
//
// A function that the running version lacks is a null pointer: check before calling. Thread-safe
// after open().
#pragma once

#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpuprof::cupti {

// The functions we call. To add one, add its name here.
#define GPUPROF_CUPTI_REQUIRED(X)      \
  X(cuptiGetVersion)                   \
  X(cuptiGetResultString)              \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableCallback)               \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiActivityEnable)               \
  X(cuptiActivityDisable)              \
  X(cuptiActivityFlushAll)             \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiGetTimestamp)

#define GPUPROF_CUPTI_OPTIONAL(X)                     \
  X(cuptiEnableDomain)                                \
  X(cuptiActivityEnableAndDump)                       \
  X(cuptiActivityEnableDriverApi)                     \
  X(cuptiActivityEnableRuntimeApi)                    \
  X(cuptiActivityEnableLatencyTimestamps)             \
  X(cuptiActivityEnableAllocationSource)              \
  X(cuptiActivityEnableDeviceGraph)                   \
  X(cuptiActivityPushExternalCorrelationId)           \
  X(cuptiActivityPopExternalCorrelationId)            \
  X(cuptiActivityEnableCudaEventDeviceTimestamps)     \
  X(cuptiActivitySetAttribute)                        \
  X(cuptiActivityConfigureUnifiedMemoryCounter)       \
  X(cuptiSetThreadIdType)                             \
  X(cuptiGetCallbackName)                             \
  X(cuptiGetContextId)                                \
  X(cuptiGetStreamIdEx)                               \
  X(cuptiGetGraphId)                                  \
  X(cuptiGetGraphNodeId)                              \
  X(cuptiGetDeviceId)                                 \
  X(cuptiDeviceGetChipName)                           \
  X(cuptiProfilerInitialize)                          \
  X(cuptiProfilerDeviceSupported)                     \
  X(cuptiGetCubinCrc)                                 \
  X(cuptiProfilerHostGetMaxNumHardwareMetricsPerPass) \
  X(cuptiProfilerHostGetSinglePassSets)               \
  X(cuptiProfilerHostGetMetricsInSinglePassSet)       \
  X(cuptiProfilerHostSetDevicePartitionInfo)          \
  X(cuptiRangeProfilerGetDevicePartitionInfo)         \
  X(cuptiActivityEnableHWTrace)                       \
  GPUPROF_CUPTI_PC_SAMPLING(X)                        \
  GPUPROF_CUPTI_SASS_METRICS(X)                       \
  GPUPROF_CUPTI_RANGE(X)                              \
  GPUPROF_CUPTI_PM(X)                                 \
  GPUPROF_CUPTI_HOST(X)

// All or none are present.
#define GPUPROF_CUPTI_PC_SAMPLING(X)          \
  X(cuptiPCSamplingEnable)                    \
  X(cuptiPCSamplingDisable)                   \
  X(cuptiPCSamplingSetConfigurationAttribute) \
  X(cuptiPCSamplingGetConfigurationAttribute) \
  X(cuptiPCSamplingGetNumStallReasons)        \
  X(cuptiPCSamplingGetStallReasons)           \
  X(cuptiPCSamplingGetData)

// All or none are present.
#define GPUPROF_CUPTI_SASS_METRICS(X)  \
  X(cuptiSassMetricsGetNumOfMetrics)   \
  X(cuptiSassMetricsGetMetrics)        \
  X(cuptiSassMetricsSetConfig)         \
  X(cuptiSassMetricsUnsetConfig)       \
  X(cuptiSassMetricsEnable)            \
  X(cuptiSassMetricsDisable)           \
  X(cuptiSassMetricsGetDataProperties) \
  X(cuptiSassMetricsFlushData)

// All or none are present: range profiling in the target, PM sampling, and the host side of both.
#define GPUPROF_CUPTI_RANGE(X)                    \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerDecodeData)                 \
  X(cuptiRangeProfilerGetCounterDataInfo)

// PM sampling of a device.
#define GPUPROF_CUPTI_PM(X)                    \
  X(cuptiPmSamplingEnable)                     \
  X(cuptiPmSamplingDisable)                    \
  X(cuptiPmSamplingSetConfig)                  \
  X(cuptiPmSamplingStart)                      \
  X(cuptiPmSamplingStop)                       \
  X(cuptiPmSamplingDecodeData)                 \
  X(cuptiPmSamplingGetCounterAvailability)     \
  X(cuptiPmSamplingGetCounterDataSize)         \
  X(cuptiPmSamplingCounterDataImageInitialize) \
  X(cuptiPmSamplingGetCounterDataInfo)         \
  X(cuptiPmSamplingCounterDataGetSampleInfo)

#define GPUPROF_CUPTI_HOST(X)             \
  X(cuptiProfilerHostInitialize)          \
  X(cuptiProfilerHostDeinitialize)        \
  X(cuptiProfilerHostGetSupportedChips)   \
  X(cuptiProfilerHostGetBaseMetrics)      \
  X(cuptiProfilerHostGetSubMetrics)       \
  X(cuptiProfilerHostGetMetricProperties) \
  X(cuptiProfilerHostConfigAddMetrics)    \
  X(cuptiProfilerHostGetConfigImageSize)  \
  X(cuptiProfilerHostGetConfigImage)      \
  X(cuptiProfilerHostGetNumOfPasses)      \
  X(cuptiProfilerHostEvaluateToGpuValues)

struct Api {
#define GPUPROF_MEMBER(name) decltype(&::name) name = nullptr;
  GPUPROF_CUPTI_REQUIRED(GPUPROF_MEMBER)
  GPUPROF_CUPTI_OPTIONAL(GPUPROF_MEMBER)
#undef GPUPROF_MEMBER

  void* library = nullptr;
  std::uint32_t version = 0;  // from cuptiGetVersion: 24 = 12.6 … 28, then 130000 = 13.0 …
  std::string path;           // the file it was loaded from

  bool has_pc_sampling() const;
  bool has_sass_metrics() const;
  bool has_range_profiling() const;
  bool has_pm_sampling() const;
  bool has_host_profiling() const;

  // Any symbol of the library, for entry points that are only passed on.
  void* symbol(const char* name) const;
};

// The oldest version whose records this build can read.
inline constexpr std::uint32_t oldest_version = 24;

// Loads the copy at `path` (a file, or a bare name for the loader to find) and looks everything up.
// false: `error` says why, in one line. A loaded copy stays mapped: CUPTI cannot be unloaded.
bool open(const char* path, Api& api, std::string& error);

// The same, without querying the version, which requires a driver: for the host API alone.
bool open_for_host(const char* path, Api& api, std::string& error);

// Loads the libraries that libcupti opens by their bare names for metrics, from its own folder.
// Otherwise CUPTI looks only where the loader does.
void load_perfworks(const Api& api);

// The path of a libcupti that is already mapped in this process; empty if there is none.
std::string mapped_copy();

// Parameters of the profiling calls begin with their size; the rest is zero.
template <class Params>
Params sized(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}

// What a refusal means, and what to do about it. CUPTI's own text for unknown ones.
std::string explained(const Api& api, CUptiResult result);

}  // namespace gpuprof::cupti
