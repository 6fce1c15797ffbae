// CUPTI calls needed wherever a context is measured: which context it is, on which chip, and
// initializing the profiler.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/launch.hpp"

namespace gpuprof::collect {

// 0 if CUPTI does not say.
std::uint32_t id_of(CheckedApi& cupti, CUcontext context);
std::uint32_t device_of(CheckedApi& cupti, CUcontext context);
// The id of a launch's stream.
std::uint32_t stream_id(CheckedApi& cupti, CUcontext context, const Launch& launch);
// Empty: unknown.
std::string chip_of(CheckedApi& cupti, std::uint32_t device);

// The message to the user about a call that CUPTI refused.
std::string why_refused(const CheckedApi& cupti, const char* function, CUptiResult result);

// Once per process; later calls do nothing. CUPTI returns "unknown" while the driver starts, yet
// subsequent calls work.
void initialize_profiler(CheckedApi& cupti);

}  // namespace gpuprof::collect
