// Where the collector writes records that it makes itself, of calls (call_records.hpp) and of NVTX
// (nvtx_records.hpp): each thread of the target has a slot of its own in the arena, so the records
// outlive the target. The launcher gets them with the next flush (Delivery::take_calls).
//
// here() and what follows it are on the application's hot path: they take no lock, and allocate
// nothing but the slot.
#pragma once

#include <cupti.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/costs.hpp"
#include "libprof/collect/node_numbers.hpp"
#include "libprof/collect/open_calls.hpp"
#include "libprof/collect/tick_clock.hpp"

namespace gpuprof::collect {

class ThreadSlots {
 public:
  // A kernel that was launched.
  struct Launched {
    std::uint32_t correlation = 0;
    std::uint64_t node = 0;  // of a graph, made in the launch; noted where NCCL is used
  };
  // Nodes are cloned into a graph by a call, which is known where stacks are read.
  struct Clones {
    CUgraph graph = nullptr;
    std::uint32_t call = 0;  // correlation id
    bool are_made(CUgraph in, std::uint32_t by) const { return in == graph && by == call && in; }
  };
  // The state of a thread; only that thread uses it.
  struct alignas(64) Thread {
    // What each record needs is in one cache line.
    bool left_out = false;
    bool has_slot = false;
    bool is_first = false;  // of the process
    std::uint32_t id = 0;   // of the thread, as in CUPTI's records
    std::uint64_t trace = 0;
    std::byte* bytes = nullptr;  // of the slot
    SlotHeader* header = nullptr;
    std::uint32_t used = 0;         // bytes of the slot
    std::uint32_t stack_of = 0;     // correlation id: LaunchStacks' last
    std::uint64_t frames_from = 0;  // PythonStack's
    Costs::Turn timed;
    std::uint32_t turn = 0;  // counts the thread's slots
    // What a node of a graph needs is in another one.
    alignas(64) Clones clones;  // made last
    NodeNumbers::Graph graph, original_graph;
    Launched launched;            // last
    Launched nccl;                // the kernel of the operations that NCCL reports
    std::uint64_t stack_end = 0;  // NativeFrames'
    OpenCalls calls;
    void* nvtx = nullptr;  // NvtxRecords' state of the thread, which is found faster here

    // Where the next record goes, once make_room() has made room for it.
    std::byte* end() const { return bytes + used; }
    // The bytes written there are records now.
    void written(std::size_t size) {
      used += static_cast<std::uint32_t>(size);
      header->used.store(used, std::memory_order_release);
    }
  };

  explicit ThreadSlots(Arena& arena) : arena_(arena), costs_(arena) {}

  // What the records cost, and whatever else the collector does.
  Costs& costs() { return costs_; }

  // A trace begins; the arena is as new. `system_thread_ids`: records have the kernel's numbers for
  // threads, otherwise pthread's. One thread.
  void begin(CheckedApi& cupti, bool system_thread_ids);
  // The calling thread is the collector's: it makes no records.
  void leave_out_this_thread();
  // For the child of a fork: nothing more is recorded, and no thread has a slot.
  void abandon() { trace_.store(0); }

  // The number of the trace, which no earlier trace had; 0: nothing is traced.
  std::uint64_t trace() const { return trace_.load(std::memory_order_acquire); }
  std::uint32_t process() const { return process_; }
  // On CUPTI's clock, in ns.
  std::uint64_t now() const { return timestamp_ ? cuptis_now() : clock_.now(); }
  // Compares the clock by ticks, which now() uses, with the system's; call a few times a second on
  // one thread.
  void correct_clock() { clock_.correct(); }

  // The state of the calling thread.
  Thread& here() {
    Thread& thread = thread_;
    if (thread.trace != trace()) [[unlikely]]
      begin_thread(thread);
    return thread;
  }
  // Makes room for `size` bytes at thread.end(), in another slot if necessary. false:
  // there is no slot.
  bool make_room(Thread& thread, std::size_t size) {
    return (thread.has_slot && size <= slot_size_ - thread.used) || next_slot(thread, size);
  }
  std::size_t slot_size() const { return slot_size_; }
  // Has memory made for slots that threads will need soon. One thread, not the application's.
  void prepare() { arena_.prepare_calls(slots_ahead); }
  // A record for which there was no room.
  void count_lost(std::uint32_t kind) {
    arena_.ledger().discarded[kind].fetch_add(1, std::memory_order_relaxed);
  }

 private:
  // A megabyte: several times what a busy program fills between two flushes.
  static constexpr std::uint32_t slots_ahead = 16;

  void begin_thread(Thread& thread) const;
  bool next_slot(Thread& thread, std::size_t size);
  std::uint64_t cuptis_now() const;
  static void thread_ends(void* slots) noexcept;

  static constinit thread_local Thread thread_;

  // What each record needs.
  std::atomic<std::uint64_t> trace_{0};
  std::size_t slot_size_ = 0;
  decltype(&::cuptiGetTimestamp) timestamp_ = nullptr;  // null: CUPTI's clock is the system's
  std::uint32_t process_ = 0;
  bool system_thread_ids_ = true;
  bool has_key_ = false;
  TickClock clock_;

  Arena& arena_;
  Costs costs_;
  pthread_key_t key_{};  // its destructor runs when a thread ends
  std::mutex leaving_;   // held while a trace begins, and while a thread ends
};

}  // namespace gpuprof::collect
