// The clocks that gpuprof compares.
#pragma once

#include <time.h>

#include <cstdint>

namespace gpuprof {

// ns. `clock`: CLOCK_REALTIME and the like. 0: the system does not have it.
std::int64_t clock_ns(clockid_t clock);

// What the processor counts: TSC of x86-64, CNTVCT of Arm. 0: none that a program may read.
std::int64_t processor_ticks();

// How far CLOCK_REALTIME may be off, ns, as NTP, chrony or PTP have told the kernel (adjtimex). 0:
// nothing keeps it in step, or the kernel does not say.
std::int64_t realtime_error_ns();

}  // namespace gpuprof
