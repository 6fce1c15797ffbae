#include "libprof/base/clock.hpp"

#include <sys/timex.h>

#include <algorithm>

namespace gpuprof {

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t processor_ticks_per_second() {
#if defined(__aarch64__)
  std::int64_t frequency = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  return frequency;
#else
  return 0;
#endif
}

std::int64_t realtime_error_ns() {
  timex state{};  // queries only
  if (adjtimex(&state) < 0 || (state.status & STA_UNSYNC)) return 0;
  return std::max<std::int64_t>(state.maxerror, 1) * 1000;
}

}  // namespace gpuprof
