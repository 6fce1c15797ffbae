// The time CUPTI takes for the first Start of a profiler object (measured:
// docs/measurements/history.md).
#pragma once

namespace gpuprof::cupti {

inline constexpr double first_start_us = 180'000;
inline constexpr double first_start_range_us = 650;  // in addition, for each range of its batch

}  // namespace gpuprof::cupti
