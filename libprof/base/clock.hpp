// The clocks that gpuprof compares, in ns.
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuprof {

// `clock`: CLOCK_REALTIME and the like. 0: the system does not have it.
inline std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace gpuprof
