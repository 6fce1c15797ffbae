// The CUDA driver and a libcupti that reads counters, in this process. Both stay until it ends, so
// use a dedicated process.
#pragma once

#include <cuda.h>
#include <cupti_profiler_target.h>

#include <string>
#include <vector>

#include "libprof/cupti/api.hpp"

namespace gpuprof::cupti {

inline constexpr char unknown_chip[] =
    "CUPTI does not know the chip; a newer one may (--cupti PATH)";

struct Driver {
  Api api;
  int devices = 0;
  // CUPTI's result when profiling was initialized.
  CUptiResult profiler = CUPTI_SUCCESS;
  CUresult (*create_context)(CUcontext*, unsigned, CUdevice) = nullptr;
  CUresult (*device_name)(char*, int, CUdevice) = nullptr;
  CUresult (*error_name)(CUresult, const char**) = nullptr;  // null: the driver has none

  std::string name(int device) const;
  std::string name_of(CUresult result) const;  // CUDA_ERROR_NO_DEVICE, or error 100
  std::string chip(int device) const;          // such as GH100; empty: CUPTI does not know it
  // Why CUPTI would refuse to count in this way, as far as it knows without trying; empty: it would
  // not refuse.
  std::string problem(int device, CUpti_Profiler_API use) const;
};

// `lacks` returns what an otherwise good libcupti lacks that is needed here; empty: nothing. Throws
// gpuprof::Error if there is no driver, no device or no such libcupti.
Driver start_driver(const std::vector<std::string>& candidates,
                    const char* (*lacks)(const Api& api));

}  // namespace gpuprof::cupti
