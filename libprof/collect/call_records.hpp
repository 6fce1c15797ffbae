// Records of CUDA calls and of waits that the collector makes itself, in CUPTI's callbacks, with
// the layout of CUPTI's own. CUPTI's activity kinds for them cost time in each call of the target,
// also in those that have no record; callbacks cost time only where they are enabled (measured:
// docs/measurements.md).
//
// enter() and exit() are on the application's hot path: they take no lock and allocate nothing.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/thread_slots.hpp"

namespace gpuprof::collect {

class CallRecords {
 public:
  explicit CallRecords(ThreadSlots& slots) : slots_(slots) {}

  // A trace begins, after that of the slots. One thread.
  void begin(CheckedApi& cupti);
  // Calls that are open have no record: what is recorded begins or ends in the middle of them.
  void forget_open_calls() { epoch_.fetch_add(1, std::memory_order_release); }

  // `thread` is the calling one's.
  //
  // A call begins or returns. A driver call that a recorded runtime call makes is a part of it and
  // has no record.
  void enter(ThreadSlots::Thread& thread, CUpti_CallbackDomain domain, CUpti_CallbackId id,
             const CUpti_CallbackData& call);
  // exit() and exit_wait() return true where the outermost call of the thread ends in which it has
  // waited for the GPU.
  bool exit(ThreadSlots::Thread& thread, CUpti_CallbackDomain domain, CUpti_CallbackId id,
            const CUpti_CallbackData& call);
  // A driver call that waits begins or returns. The wait has a record of its own, also where a
  // runtime call makes the driver call.
  void enter_wait(ThreadSlots::Thread& thread, CUpti_CallbackId id, const CUpti_CallbackData& call);
  bool exit_wait(ThreadSlots::Thread& thread, CUpti_CallbackId id, const CUpti_CallbackData& call);

 private:
  // The calls of the thread that are open.
  OpenCalls& calls_of(ThreadSlots::Thread& thread);
  static bool ends_waiting(OpenCalls& calls);
  // If there is no slot, the record is lost, and counted.
  template <class Record>
  void add(ThreadSlots::Thread& thread, const Record& record);

  ThreadSlots& slots_;
  CheckedApi* cupti_ = nullptr;
  // Counts up when open calls are forgotten; the high half is the number of the trace.
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace gpuprof::collect
