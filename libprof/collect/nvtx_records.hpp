// Records of NVTX marks, ranges and names that the collector makes itself, as an NVTX injection.
// CUPTI's take several times as long, and longer still with several threads.
//
// Each thread writes to its slot (thread_slots.hpp), texts included, so that the records outlive
// the target. Ranges of push and pop are objects of their thread; ranges of start and end are
// objects of the process (CUPTI does not distinguish them).
//
// Any thread. mark() to end() are on the application's hot path: they take no lock, and allocate
// nothing.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libprof/collect/made_records.hpp"
#include "libprof/collect/nvtx_objects.hpp"
#include "libprof/collect/thread_slots.hpp"

namespace gpuprof::collect {

// What a program says about a mark or range.
struct NvtxEvent {
  const char* message = nullptr;                      // null: nothing
  bool message_is_kept = false;                       // NvtxObjects has it, so it never changes
  const nvtxEventAttributes_t* attributes = nullptr;  // color, category, payload; null: none
  std::span<const nvtxPayloadData_t> payloads = {};   // with layouts
};

class NvtxRecords {
 public:
  explicit NvtxRecords(ThreadSlots& slots) : slots_(slots) {}

  NvtxObjects& objects() { return objects_; }
  // This is the child of a fork: nothing is recorded, and no lock may be waited for.
  bool forked() const { return slots_.trace() == 0; }

  // Turns records on or off.
  void record(bool on) { on_.store(on, std::memory_order_relaxed); }
  // Reports each push before it is recorded, and each pop after that, whether or not they are;
  // null: no longer. Both may be called on any thread.
  struct Listener {
    void (*push)(const char* message);  // the message may be null
    void (*pop)();
  };
  void listen(const Listener* listener) { listener_.store(listener, std::memory_order_release); }
  // Whether anybody wants to know what happens in the domain.
  bool is_enabled(const NvtxDomain& domain) const;

  void mark(const NvtxDomain& domain, const NvtxEvent& event);
  // These two return the range's level within its thread and domain, from 0; negative: there is no
  // range.
  int push(const NvtxDomain& domain, const NvtxEvent& event);
  int pop(const NvtxDomain& domain, std::span<const nvtxPayloadData_t> payloads = {});
  // Returns the range's id; 0: it has no records.
  nvtxRangeId_t start(const NvtxDomain& domain, const NvtxEvent& event);
  void end(nvtxRangeId_t id, const NvtxDomain& domain,
           std::span<const nvtxPayloadData_t> payloads = {});

  // What a thread does with a lock or the like: CUPTI_ACTIVITY_FLAG_MARKER_SYNC_*. `object` is its
  // number from new_id().
  void synchronize(const NvtxDomain& domain, std::uint32_t object, const char* name,
                   std::uint32_t flag);
  // A number that no mark, range or object of synchronization had before.
  std::uint32_t new_id();

  // A name for a thread, device, context or stream.
  void name(CUpti_ActivityObjectKind kind, const CUpti_ActivityObjectKindId& object,
            const char* name);

 private:
  struct Thread;
  class Entries;

  bool records(const NvtxDomain& domain) const {
    return on_.load(std::memory_order_relaxed) && domain.recorded.load(std::memory_order_relaxed);
  }
  static Thread& here(ThreadSlots::Thread& slot);
  std::uint32_t next_id(Thread& thread);
  // Writes a record, with the data of the event. false: there was no room; it is lost, and counted.
  bool write(ThreadSlots::Thread& slot, Thread& thread, MarkerEntry marker,
             const NvtxDomain& domain, const NvtxEvent& event);
  // Writes one without data, whose texts are in the slot. false: it is not such a one.
  bool write_known(ThreadSlots::Thread& slot, const Thread& thread, MarkerEntry& marker,
                   const NvtxDomain& domain, const NvtxEvent& event) const;
  template <class Compose>
  bool write_entries(ThreadSlots::Thread& slot, Thread& thread, Compose&& compose);

  static thread_local Thread thread_;

  ThreadSlots& slots_;
  NvtxObjects objects_;
  std::atomic<bool> on_{false};
  std::atomic<const Listener*> listener_{nullptr};
  std::atomic<std::uint32_t> ids_{1};  // the first number that no thread has reserved
};

}  // namespace gpuprof::collect
