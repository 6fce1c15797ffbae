// What a test tells the stand-in through the environment, and what the stand-in tells the test.
//
//   FAKE_CUPTI_VERSION            see records.hpp
//   FAKE_CUPTI_FAIL               "cuptiSubscribe=39;cuptiActivityEnable:10=2": the call (with this
//                                 first argument) answers this; "=2@3": only from its third time on
//   FAKE_CUPTI_FIRST_CORRELATION  the first correlation id (1)
//   FAKE_CUPTI_NAME_CALLS=1       a driver row cuKernelGetName for each runtime launch
//   FAKE_CUPTI_DELIVER=flush      completed is called by the thread that flushes, not by a worker
//   FAKE_CUPTI_LEDGER             a file; how many records of each kind were written, 64 words of
//                                 64 bits, goes to it with ".PID" appended, and outlives the
//                                 process; driver calls that only the collector makes and CUPTI's
//                                 own kernels are not counted
//   FAKE_CUPTI_HANG               "cuptiRangeProfilerStop" or "kernel:5": the call of the profiling
//                                 API, or the launch of the kernel under kernel replay, hangs for
//                                 ever, or so many seconds
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

bool name_calls();
bool deliver_in_flush();

void note_in_ledger(std::uint32_t kind);

}  // namespace fake

// First in each function of CUPTI's.
#define FAIL_IF_TOLD(...)                                                                 \
  if (const CUptiResult told = fake::wanted_failure(__func__ __VA_OPT__(, ) __VA_ARGS__)) \
  return told

// First in each function of the profiling API.
#define TROUBLE_IF_TOLD()       \
  fake::hang_if_told(__func__); \
  FAIL_IF_TOLD()
