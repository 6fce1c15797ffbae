// What the callback of a call for memory is given.
#pragma once

#include <cupti.h>

#include "tests/fake_cupti/hooks.hpp"

namespace fake {

// The parameters of a call, as the callback finds them: one of these.
struct MemoryParams {
  CUmemAllocationProp wanted{};
  cuMemCreate_params create{};
  cuMemRelease_params release{};
  cuMemMap_params map{};
  cuMemUnmap_params unmap{};
  cuMemRetainAllocationHandle_params retain{};
  cuMemHostRegister_v2_params host_register{};
  cuMemHostUnregister_params host_unregister{};
  cuMemAlloc_v2_params alloc{};
  cudaMalloc_v3020_params runtime_alloc{};
  cudaHostRegister_v4000_params runtime_register{};
  cudaHostUnregister_v4000_params runtime_unregister{};
};

inline const void* fill(MemoryParams& params, const ApiCall& call) {
  const Memory& memory = *call.memory;
  auto* const written = reinterpret_cast<CUdeviceptr*>(memory.written);
  auto* const host = reinterpret_cast<void*>(memory.address);
  if (call.runtime) {
    switch (call.cbid) {
      case CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020:
        params.runtime_alloc = {reinterpret_cast<void**>(written), memory.bytes};
        return &params.runtime_alloc;
      case CUPTI_RUNTIME_TRACE_CBID_cudaHostRegister_v4000:
        params.runtime_register = {host, memory.bytes, 0};
        return &params.runtime_register;
      default: params.runtime_unregister = {host}; return &params.runtime_unregister;
    }
  }
  switch (call.cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
      params.wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      params.wanted.location.id = static_cast<int>(memory.device);
      params.create = {written, memory.bytes, &params.wanted, 0};
      return &params.create;
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
      params.release = {memory.handle};
      return &params.release;
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap:
      params.map = {memory.address, memory.bytes, 0, memory.handle, 0};
      return &params.map;
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
      params.unmap = {memory.address, memory.bytes};
      return &params.unmap;
    case CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle:
      params.retain = {written, host};
      return &params.retain;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      params.host_register = {host, memory.bytes, 0};
      return &params.host_register;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
      params.host_unregister = {host};
      return &params.host_unregister;
    default: params.alloc = {written, memory.bytes}; return &params.alloc;
  }
}

}  // namespace fake
