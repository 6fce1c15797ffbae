#include "tests/fake_cupti/cupti/profiling.hpp"

#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/fake_cupti/cupti/metrics.hpp"
#include "tests/fake_cupti/cupti/params.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"
#include "tests/fake_cupti/cupti/state.hpp"

namespace fake {
namespace {

thread_local int callbacks = 0;

}  // namespace

InCallback::InCallback() { ++callbacks; }
InCallback::~InCallback() { --callbacks; }

void* driver() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); }

std::uint32_t chip_of(std::uint32_t device) {
  const char* text = std::getenv("FAKE_CUDA_CHIPS");
  std::string_view rest = text ? text : chips[0];
  for (; device > 0 && rest.find(',') != rest.npos; --device) {
    rest.remove_prefix(rest.find(',') + 1);
  }
  return find_chip(rest.substr(0, rest.find(','))).value_or(0);
}

}  // namespace fake

using namespace fake;

namespace {

int device_count() { return static_cast<int>(setting("FAKE_CUDA_DEVICES", 1)); }

}  // namespace

extern "C" {

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_Initialize_Params);
  // What NVIDIA's answers before cuInit is through. Nothing comes of it.
  void* const cuda = driver();
  const auto is_up = cuda ? reinterpret_cast<IsUp>(dlsym(cuda, is_up_name)) : nullptr;
  if (version() < 130100 && cupti().enabled[CUPTI_ACTIVITY_KIND_PCIE].load()) {
    return CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED;
  }
  return is_up && is_up() ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_DeInitialize_Params);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Profiler_DeviceSupported_Params);
  if (params->cuDevice < 0 || params->cuDevice >= device_count()) {
    return CUPTI_ERROR_INVALID_DEVICE;
  }
  const char* text = std::getenv("FAKE_CUPTI_UNSUPPORTED");
  const std::string_view lacking = text ? text : "";
  const auto level = [&](std::string_view name) {
    if (name != lacking) return CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return name == "vGpu" ? CUPTI_PROFILER_CONFIGURATION_DISABLED
                          : CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  };
  params->isSupported = lacking.empty()        ? CUPTI_PROFILER_CONFIGURATION_SUPPORTED
                        : lacking == "limited" ? CUPTI_PROFILER_CONFIGURATION_LIMITED_SUPPORT
                                               : CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  params->architecture = level("architecture");
  params->sli = level("sli");
  params->vGpu = level("vGpu");
  params->confidentialCompute = level("confidentialCompute");
  params->cmp = level("cmp");
  params->wsl = level("wsl");
  params->sku = level("sku");
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerGetCounterAvailability(
    CUpti_Profiler_GetCounterAvailability_Params* params) {
  TROUBLE_IF_TOLD();
  using Params = CUpti_Profiler_GetCounterAvailability_Params;
  const std::size_t old_size = CUPTI_PROFILER_STRUCT_SIZE(Params, pCounterAvailabilityImage);
  const std::size_t size = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE;
  if (!params || !is_known_size(params->structSize, old_size, size, 130100)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (callbacks > 0) return CUPTI_ERROR_INVALID_OPERATION;
  constexpr std::size_t image_size = 16;
  if (params->pCounterAvailabilityImage) {
    if (params->counterAvailabilityImageSize < image_size) return CUPTI_ERROR_INVALID_PARAMETER;
    std::memset(params->pCounterAvailabilityImage, 1, image_size);
  }
  params->counterAvailabilityImageSize = image_size;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  TROUBLE_IF_TOLD();
  EXPECT_SIZE(CUpti_Device_GetChipName_Params);
  if (!driver()) return CUPTI_ERROR_NOT_INITIALIZED;
  if (params->deviceIndex >= static_cast<std::size_t>(device_count())) {
    return CUPTI_ERROR_INVALID_DEVICE;
  }
  const char* named = std::getenv("FAKE_CUPTI_CHIP");
  params->pChipName =
      named ? named : chips[chip_of(static_cast<std::uint32_t>(params->deviceIndex))];
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, std::uint32_t* device) {
  TROUBLE_IF_TOLD();
  if (!context) return CUPTI_ERROR_INVALID_CONTEXT;
  *device = context_of(context)->device;
  return CUPTI_SUCCESS;
}

// The handle of a node or graph is its number.
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* id) {
  TROUBLE_IF_TOLD();
  if (!node) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<std::uintptr_t>(node);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, std::uint32_t* id) {
  TROUBLE_IF_TOLD();
  if (!graph) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(graph));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, std::uint8_t,
                               std::uint32_t* id) {
  TROUBLE_IF_TOLD();
  if (!context) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = null_stream + static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(stream));
  return CUPTI_SUCCESS;
}

}  // extern "C"
