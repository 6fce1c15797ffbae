// The CUDA driver and a libcupti that reads counters, in this process. Both stay until it ends, so
// it is a process of its own.
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
  // What CUPTI said to being asked for counters at all.
  CUptiResult profiler = CUPTI_SUCCESS;
  CUresult (*create_context)(CUcontext*, unsigned, CUdevice) = nullptr;
  CUresult (*device_name)(char*, int, CUdevice) = nullptr;

  std::string name(int device) const;
  std::string chip(int device) const;  // as in GH100; empty: CUPTI does not know it
  // Why CUPTI would refuse to count in this way, as far as it knows without trying; empty: it would
  // not.
  std::string problem(int device, CUpti_Profiler_API use) const;
};

// `lacks` says what an otherwise good libcupti has not got that is needed here; empty: nothing.
// Throws gpuprof::Error when there is no driver, no device or no such libcupti.
Driver start_driver(const std::vector<std::string>& candidates,
                    const char* (*lacks)(const Api& api));

}  // namespace gpuprof::cupti
