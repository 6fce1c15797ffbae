// What CUPTI is asked for wherever a context is measured: which one it is, on which chip, and that
// the profiler be there.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/launch.hpp"

namespace gpuprof::collect {

// 0 where CUPTI does not say.
std::uint32_t id_of(CheckedApi& cupti, CUcontext context);
std::uint32_t device_of(CheckedApi& cupti, CUcontext context);
// Of the stream of a launch.
std::uint32_t stream_id(CheckedApi& cupti, CUcontext context, const Launch& launch);
// Empty: not known.
std::string chip_of(CheckedApi& cupti, std::uint32_t device);

// What the user is told of a call that CUPTI refused.
std::string why_refused(const CheckedApi& cupti, const char* function, CUptiResult result);

// Once for the process; later calls do nothing. It says "unknown" while the driver starts, and what
// follows works all the same.
void initialize_profiler(CheckedApi& cupti);

}  // namespace gpuprof::collect
