#include "libprof/collect/profiler_calls.hpp"

#include <cupti_profiler_target.h>

#include <atomic>

namespace gpuprof::collect {

std::uint32_t id_of(CheckedApi& cupti, CUcontext context) {
  std::uint32_t id = 0;
  if (cupti.cuptiGetContextId) {
    cupti.try_("cuptiGetContextId", cupti.cuptiGetContextId(context, &id));
  }
  return id;
}

std::uint32_t device_of(CheckedApi& cupti, CUcontext context) {
  std::uint32_t device = 0;
  if (cupti.cuptiGetDeviceId) {
    cupti.try_("cuptiGetDeviceId", cupti.cuptiGetDeviceId(context, &device));
  }
  return device;
}

std::uint32_t stream_id(CheckedApi& cupti, CUcontext context, const Launch& launch) {
  std::uint32_t stream = 0;
  if (cupti.cuptiGetStreamIdEx) {
    cupti.try_("cuptiGetStreamIdEx",
               cupti.cuptiGetStreamIdEx(context, launch.stream, launch.per_thread_stream, &stream));
  }
  return stream;
}

std::string chip_of(CheckedApi& cupti, std::uint32_t device) {
  if (!cupti.cuptiDeviceGetChipName) return {};
  auto params =
      cupti::sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  params.deviceIndex = device;
  const bool known = cupti.try_("cuptiDeviceGetChipName", cupti.cuptiDeviceGetChipName(&params));
  return known && params.pChipName ? params.pChipName : "";
}

std::string why_refused(const CheckedApi& cupti, const char* function, CUptiResult result) {
  const std::string text = cupti.text(result);
  const std::string meaning = explained(cupti, result);
  return meaning.empty() || meaning == text ? function + (": " + text) : text + ": " + meaning;
}

void initialize_profiler(CheckedApi& cupti) {
  static std::atomic<bool> initialized{false};
  if (!cupti.cuptiProfilerInitialize || initialized.load()) return;
  auto params =
      cupti::sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  initialized.store(cupti.try_("cuptiProfilerInitialize", cupti.cuptiProfilerInitialize(&params),
                               {CUPTI_ERROR_UNKNOWN}));
}

}  // namespace gpuprof::collect
