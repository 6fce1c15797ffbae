// What a test tells the stand-in through the environment, and what the stand-in tells the test.
//
//   FAKE_CUPTI_VERSION            see records.hpp
//   FAKE_CUPTI_FAIL               "cuptiSubscribe=39;cuptiActivityEnable:10=2": the call (with this
//                                 first argument) answers this; "=2@3": only from its third time on
//   FAKE_CUPTI_FIRST_CORRELATION  the first correlation id (1)
//   FAKE_CUPTI_NAME_CALLS=1       a driver row cuKernelGetName for each runtime launch
//   FAKE_CUPTI_DELIVER=flush      completed is called by the thread that flushes, not by a worker
//   FAKE_CUPTI_TIMES=n            the device has room for the times of n kernels, until the client
//                                 raises its limit of buffers there
//   FAKE_CUPTI_LEDGER             a file; how many records of each kind were written, 64 words of
//                                 64 bits, goes to it with ".PID" appended, and outlives the
//                                 process; driver calls that only the collector makes and CUPTI's
//                                 own kernels are not counted
//   FAKE_CUPTI_HANG               "cuptiRangeProfilerStop" or "kernel:5": the call of the profiling
//                                 API, or the launch of the kernel while it is profiled, hangs
//                                 forever, or for that number of seconds
//   FAKE_CUPTI_DROP_RANGES=n      every n-th range of a context is lost, and counted as dropped;
//                                 the names of the others stay as they are
//   FAKE_CUPTI_UNSTEADY           1: every third launch counts twice its blocks
//   FAKE_CUPTI_METRIC_COST_US     how much longer a profiled launch takes, busy
//   FAKE_CUPTI_START_COST_MS      "100,17": what a context's first Start takes, and each later one
//   FAKE_CUPTI_UNSUPPORTED        what keeps the devices from being profiled, as the members of
//                                 CUpti_Profiler_DeviceSupported_Params are called: "sli", "vGpu"
//                                 …; "limited": some metrics may have no numbers
//   FAKE_CUPTI_NO_NUMBERS         the unit whose counters have none: "dram"
//   FAKE_CUPTI_PC_DROP=n          n samples of each launch are dropped
//   FAKE_CUPTI_PC_FULL=n          at the n-th reading of PC samples the device's buffer is full
//   FAKE_CUPTI_PC_REFUSE=n        a context is sampled at the n-th wish only
//   FAKE_CUPTI_SASS_LACKS=text    metrics of instructions with this in their names are not there
//   FAKE_CUPTI_SASS_REFUSE=1      instructions are not counted
//   FAKE_CUPTI_HES=27@n           hardware tracing is refused with this result: from the start, or
//                                 once n kernels have run
//   FAKE_CUPTI_CHIP               what CUPTI calls the chips of devices, whatever they are
//   FAKE_CUDA_VERSION             the driver's (13000)
//   FAKE_CUDA_CUBIN               the file that fake_module_load loads
//   FAKE_CUDA_NAME                what the devices are called (Stand-in GPU)
//   FAKE_CUDA_CHIPS               "FAKE1,FAKE2": the chip of each device, of the last for those
//                                 behind (FAKE1); see metrics.hpp
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string_view>

namespace fake {

// The answer that FAKE_CUPTI_FAIL wants from this call, else CUPTI_SUCCESS.
CUptiResult wanted_failure(const char* function, long argument = -1);

std::uint32_t first_correlation();
// Returns late or never if FAKE_CUPTI_HANG names this function or kernel.
void hang_if_told(std::string_view name);

// A number in the environment.
long setting(const char* name, long otherwise);
long start_cost_ms(bool started_before);
// The answer that FAKE_CUPTI_HES wants after that many kernels, else CUPTI_SUCCESS.
CUptiResult hardware_tracing_refusal(long kernels);

bool name_calls();
bool deliver_in_flush();

void note_in_ledger(std::uint32_t kind);

}  // namespace fake

// First in each function of CUPTI's.
#define FAIL_IF_TOLD(...)                                                                 \
  if (const CUptiResult told = fake::wanted_failure(__func__ __VA_OPT__(, ) __VA_ARGS__)) \
  return told

// First in each function of the profiling API.
#define TROUBLE_IF_TOLD(...)    \
  fake::hang_if_told(__func__); \
  FAIL_IF_TOLD(__VA_ARGS__)
