// The clocks that gpuprof compares.
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuprof {

// Time in ns. `clock` is CLOCK_REALTIME or another clock id. 0: the system does not have it.
std::int64_t clock_ns(clockid_t clock);

// The processor's counter: TSC on x86-64, CNTVCT on Arm. 0: there is none that a program may read.
inline std::int64_t processor_ticks() {
#if defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
  std::int64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}
// 0: the processor does not say; x86-64 never does.
std::int64_t processor_ticks_per_second();

// How far CLOCK_REALTIME may be off, in ns, as NTP, chrony or PTP reported to the kernel
// (adjtimex). 0: nothing keeps it synchronized, or the kernel does not say.
std::int64_t realtime_error_ns();

}  // namespace gpuprof
