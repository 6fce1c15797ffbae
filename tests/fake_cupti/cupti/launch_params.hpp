// What a launch callback is given of the call.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "tests/fake_cupti/hooks.hpp"

namespace fake {

// The parameters of a launch, as the callback finds them: one of these.
struct LaunchParams {
  cuLaunchKernel_params kernel{};
  CUlaunchConfig config{};
  cuLaunchKernelEx_params kernel_ex{};
  cuLaunchCooperativeKernel_params cooperative{};
  cuGraphLaunch_params graph{};
  cudaLaunchKernel_v7000_params runtime_kernel{};
  cudaLaunchCooperativeKernel_v9000_params runtime_cooperative{};
  cudaGraphLaunch_v10000_params runtime_graph{};
};

template <class Params>
const void* fill_driver(Params& params, const Launch& launch) {
  params.gridDimX = launch.grid[0];
  params.gridDimY = launch.grid[1];
  params.gridDimZ = launch.grid[2];
  params.blockDimX = launch.block[0];
  params.blockDimY = launch.block[1];
  params.blockDimZ = launch.block[2];
  params.hStream = reinterpret_cast<CUstream>(std::uintptr_t{launch.stream});
  return &params;
}

template <class Params>
const void* fill_runtime(Params& params, const Launch& launch) {
  params.gridDim = {launch.grid[0], launch.grid[1], launch.grid[2]};
  params.blockDim = {launch.block[0], launch.block[1], launch.block[2]};
  params.stream = reinterpret_cast<cudaStream_t>(std::uintptr_t{launch.stream});
  return &params;
}

inline const void* fill(LaunchParams& params, const ApiCall& call) {
  const Launch& launch = *call.launch;
  const std::uintptr_t stream = launch.stream;
  if (call.runtime) {
    switch (call.cbid) {
      case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000:
        return fill_runtime(params.runtime_cooperative, launch);
      case CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000:
        params.runtime_graph.stream = reinterpret_cast<cudaStream_t>(stream);
        return &params.runtime_graph;
      default: return fill_runtime(params.runtime_kernel, launch);
    }
  }
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
      return fill_driver(params.cooperative, launch);
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
      fill_driver(params.config, launch);
      params.kernel_ex.config = &params.config;
      return &params.kernel_ex;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
      params.graph.hStream = reinterpret_cast<CUstream>(stream);
      return &params.graph;
    default: return fill_driver(params.kernel, launch);
  }
}

}  // namespace fake
