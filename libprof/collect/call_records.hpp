// Records of CUDA calls and of waits that the collector makes itself, in CUPTI's callbacks, with
// the layout of CUPTI's own. CUPTI's activity kinds for them cost time in each call of the target,
// also in those that have no record; callbacks cost time only where they are enabled (measured:
// docs/measurements.md).
//
// Each thread writes to a slot of its own in the arena, so the records outlive the target. The
// launcher gets them with the next flush (Delivery::take_calls).
//
// enter() and exit() are on the application's hot path: they take no lock, and allocate nothing
// but the slot.
#pragma once

#include <cupti.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/checked_api.hpp"

namespace gpuprof::collect {

// The size of a record that the collector makes; 0: it makes none of this kind.
constexpr std::size_t size_of_made(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    default: return 0;
  }
}

// Calls f(record) for each record in a slot of calls between two positions, which are in bytes and
// divisible by 8. Stops at what is not a record.
template <class F>
void for_each_made(const std::byte* slot, std::size_t from, std::size_t end, F&& f) {
  while (from + sizeof(std::uint64_t) <= end) {
    const auto* const record = reinterpret_cast<const CUpti_Activity*>(slot + from);
    const std::size_t size = size_of_made(record->kind);
    if (size == 0 || size > end - from) return;
    f(record);
    from += size;
  }
}

class CallRecords {
 public:
  explicit CallRecords(Arena& arena) : arena_(arena) {}

  // A trace begins; the arena is as new. `system_thread_ids`: records have the kernel's numbers for
  // threads, otherwise pthread's. One thread.
  void begin(CheckedApi& cupti, bool system_thread_ids);
  // Calls that are open have no record: what is recorded begins or ends in the middle of them.
  void forget_open_calls() { epoch_.fetch_add(1, std::memory_order_release); }
  // The calling thread is the collector's: its calls have no records.
  void leave_out_this_thread();
  // For the child of a fork: nothing more is recorded, and no thread has a slot.
  void abandon() { epoch_.store(0); }

  // A call begins or returns. A driver call that a recorded runtime call makes is a part of it and
  // has no record.
  void enter(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);
  // exit() and exit_wait() return true where the outermost call of the thread ends in which it has
  // waited for the GPU.
  bool exit(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call);
  // A driver call that waits begins or returns. The wait has a record of its own, also where a
  // runtime call makes the driver call.
  void enter_wait(CUpti_CallbackId id, const CUpti_CallbackData& call);
  bool exit_wait(CUpti_CallbackId id, const CUpti_CallbackData& call);

 private:
  struct Thread;

  static void thread_ends(void* records) noexcept;
  // The state of the calling thread.
  Thread& here();
  static bool ends_waiting(Thread& thread);
  // Adds a record to the thread's slot. If there is no slot, it is lost, and counted.
  template <class Record>
  void add(Thread& thread, const Record& record);
  bool make_room(Thread& thread, std::size_t size);
  std::uint64_t now() const;

  static thread_local Thread thread_;

  Arena& arena_;
  bool system_thread_ids_ = true;
  std::uint32_t process_ = 0;
  CheckedApi* cupti_ = nullptr;
  decltype(&::cuptiGetTimestamp) timestamp_ = nullptr;  // null: CUPTI's clock is the system's
  pthread_key_t key_{};                                 // its destructor runs when a thread ends
  bool has_key_ = false;
  std::mutex leaving_;  // held while a trace begins, and while a thread ends
  // Counts up when open calls are forgotten; the high half is the number of the trace.
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace gpuprof::collect
