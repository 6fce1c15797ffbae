// The facts about a launch in a callback.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <array>
#include <cstdint>

namespace gpuprof::collect {

struct Launch {
  const char* symbol = nullptr;
  CUstream stream = nullptr;
  bool per_thread_stream = false;
  bool cooperative = false;
  bool graph = false;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};

  // `id` is one of kernel_launches or graph_launches (driver_calls.hpp).
  Launch(CUpti_CallbackId id, const CUpti_CallbackData& call) : symbol(call.symbolName) {
    switch (id) {
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        per_thread_stream = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel: {
        // All of these begin with the same members.
        const auto& params = *static_cast<const cuLaunchKernel_params*>(call.functionParams);
        set(params);
        stream = params.hStream;
        cooperative = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
                      id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
        break;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: per_thread_stream = true; [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
        const auto* config =
            static_cast<const cuLaunchKernelEx_params*>(call.functionParams)->config;
        if (!config) break;
        set(*config);
        stream = config->hStream;
        for (unsigned i = 0; i < config->numAttrs; ++i) {
          const CUlaunchAttribute& attribute = config->attrs[i];
          cooperative |=
              attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0;
        }
        break;
      }
      default: graph = true;
    }
  }

 private:
  template <class Dimensions>
  void set(const Dimensions& from) {
    grid = {from.gridDimX, from.gridDimY, from.gridDimZ};
    block = {from.blockDimX, from.blockDimY, from.blockDimZ};
  }
};

}  // namespace gpuprof::collect
