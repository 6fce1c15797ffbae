// The clocks that gpuprof compares.
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuprof {

// Time in ns. `clock` is CLOCK_REALTIME or another clock id. 0: the system does not have it.
std::int64_t clock_ns(clockid_t clock);

// The processor's counter: TSC on x86-64, CNTVCT on Arm. 0: there is none that a program may read.
std::int64_t processor_ticks();
// 0: the processor does not say; x86-64 never does.
std::int64_t processor_ticks_per_second();

// How far CLOCK_REALTIME may be off, in ns, as NTP, chrony or PTP reported to the kernel
// (adjtimex). 0: nothing keeps it synchronized, or the kernel does not say.
std::int64_t realtime_error_ns();

}  // namespace gpuprof
