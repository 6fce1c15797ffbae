#include "libprof/collect/call_records.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "libprof/base/clock.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::uint64_t trace_step = std::uint64_t{1} << 32;
// Each trace has a number of its own, since what a thread remembers of one is not of another.
constinit std::atomic<std::uint64_t> traces{0};

// Calls within calls: a driver call may call back the application, which may make more calls. Any
// deeper ones have no records.
constexpr std::size_t most_open = 8;

std::uint64_t system_now() { return static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME)); }

// Whether CUPTI's times are those of the system's clock: they are in all versions seen. A reading
// of one lies between two of the other, unless the clock was set meanwhile.
bool is_system_clock(CheckedApi& cupti) {
  if (!cupti.cuptiGetTimestamp) return true;
  for (int tries = 0; tries < 3; ++tries) {
    std::uint64_t there = 0;
    const std::uint64_t before = system_now();
    if (!cupti.try_("cuptiGetTimestamp", cupti.cuptiGetTimestamp(&there))) return true;
    if (before <= there && there <= system_now()) return true;
  }
  return false;
}

std::uint32_t result_of(const CUpti_CallbackData& call) {
  return call.functionReturnValue ? *static_cast<const std::uint32_t*>(call.functionReturnValue)
                                  : 0;
}

struct WaitedFor {
  CUpti_ActivitySynchronizationType type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  bool has_stream = false;
  bool per_thread = false;
  CUstream stream = nullptr;
  CUevent event = nullptr;
};

// `id` is one of waiting_calls (driver_calls.hpp).
WaitedFor what_waits(CUpti_CallbackId id, const void* params) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz:
      return {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, true,
              id == CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
              static_cast<const cuStreamSynchronize_params*>(params)->hStream, nullptr};
    case CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize:
      return {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, false, false, nullptr,
              static_cast<const cuEventSynchronize_params*>(params)->hEvent};
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz: {
      const auto& wait = *static_cast<const cuStreamWaitEvent_params*>(params);
      return {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, true,
              id == CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz, wait.hStream, wait.hEvent};
    }
    default: return {};
  }
}

// Only CUPTI knows its id of an event, which CUDA_EVENT would have too. This number is the same for
// all waits for the event.
std::uint32_t number_of(CUevent event) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event) >> 4);
}

}  // namespace

struct CallRecords::Thread {
  struct Open {
    bool runtime;
    CUpti_CallbackId id;
    std::uint32_t correlation;
    std::uint64_t start;
  };

  bool left_out = false;
  std::uint64_t epoch = 0;
  bool has_slot = false;
  std::uint32_t slot = 0;
  std::uint32_t used = 0;  // bytes of the slot
  std::uint32_t id = 0;
  std::uint32_t depth = 0;
  std::array<Open, most_open> open{};
  Open wait{};
  bool waited = false;  // in the call that is open
};

constinit thread_local CallRecords::Thread CallRecords::thread_;

void CallRecords::begin(CheckedApi& cupti, bool system_thread_ids) {
  const std::lock_guard lock(leaving_);
  system_thread_ids_ = system_thread_ids;
  process_ = static_cast<std::uint32_t>(getpid());
  cupti_ = &cupti;
  timestamp_ = is_system_clock(cupti) ? nullptr : cupti.cuptiGetTimestamp;
  // Without it, slots of ended threads stay in use until the trace ends.
  if (!has_key_) has_key_ = pthread_key_create(&key_, &thread_ends) == 0;
  epoch_.store(++traces * trace_step, std::memory_order_release);
}

std::uint64_t CallRecords::now() const {
  std::uint64_t there = 0;
  if (!timestamp_ || timestamp_(&there) != CUPTI_SUCCESS) return system_now();
  return there;
}

CallRecords::Thread& CallRecords::here() {
  Thread& thread = thread_;
  const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
  if (thread.epoch == epoch) return thread;
  // The slots of an earlier trace were given back.
  if (thread.epoch / trace_step != epoch / trace_step) {
    thread.has_slot = false;
    thread.id = static_cast<std::uint32_t>(
        system_thread_ids_ ? static_cast<std::uint64_t>(syscall(SYS_gettid)) : pthread_self());
  }
  thread.depth = 0;
  thread.epoch = epoch;
  return thread;
}

void CallRecords::enter(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData& call) {
  Thread& thread = here();
  if (thread.left_out) return;
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (!runtime && thread.depth > 0 && thread.open[thread.depth - 1].runtime) return;
  if (thread.depth == most_open) return;
  thread.open[thread.depth++] = {runtime, id, call.correlationId, now()};
}

bool CallRecords::exit(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const CUpti_CallbackData& call) {
  Thread& thread = here();
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  std::uint32_t at = thread.depth;
  while (at > 0) {
    const Thread::Open& open = thread.open[at - 1];
    if (open.id == id && open.runtime == runtime && open.correlation == call.correlationId) break;
    --at;
  }
  if (at == 0) return false;
  thread.depth = at - 1;
  CUpti_ActivityAPI record{};
  record.kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = id;
  record.start = thread.open[thread.depth].start;
  record.end = std::max(record.start, now());
  record.processId = process_;
  record.threadId = thread.id;
  record.correlationId = call.correlationId;
  record.returnValue = result_of(call);
  add(thread, record);
  return ends_waiting(thread);
}

bool CallRecords::ends_waiting(Thread& thread) {
  return thread.depth == 0 && std::exchange(thread.waited, false);
}

void CallRecords::enter_wait(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  Thread& thread = here();
  if (!thread.left_out) thread.wait = {false, id, call.correlationId, now()};
}

bool CallRecords::exit_wait(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  Thread& thread = here();
  const Thread::Open open = std::exchange(thread.wait, {});
  if (open.start == 0 || open.id != id || open.correlation != call.correlationId) return false;
  const WaitedFor wait = what_waits(id, call.functionParams);
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = wait.type;
  record.start = open.start;
  record.end = std::max(open.start, now());
  record.correlationId = call.correlationId;
  record.contextId = call.contextUid;
  record.streamId = record.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  if (wait.has_stream) {
    cupti_->try_(
        "cuptiGetStreamIdEx",
        cupti_->cuptiGetStreamIdEx(call.context, wait.stream, wait.per_thread, &record.streamId));
  }
  if (wait.event) {
    record.cudaEventId = number_of(wait.event);
    record.cudaEventSyncId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  }
  record.returnValue = result_of(call);
  add(thread, record);
  thread.waited |= wait.type != CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  return ends_waiting(thread);
}

template <class Record>
void CallRecords::add(Thread& thread, const Record& record) {
  static_assert(sizeof record % 8 == 0);
  if (!make_room(thread, sizeof record)) {
    arena_.ledger().discarded[record.kind].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::memcpy(arena_.slot(thread.slot) + thread.used, &record, sizeof record);
  thread.used += sizeof record;
  arena_.slot_header(thread.slot).used.store(thread.used, std::memory_order_release);
}

bool CallRecords::make_room(Thread& thread, std::size_t size) {
  if (thread.has_slot && thread.used + size > arena_.call_slot_size()) {
    arena_.slot_header(thread.slot).state.store(SlotState::calls_done, std::memory_order_release);
    thread.has_slot = false;
  }
  if (thread.has_slot) return true;
  const auto slot = arena_.lend_calls();
  if (!slot) return false;
  thread.slot = *slot;
  thread.used = 0;
  thread.has_slot = true;
  if (has_key_) pthread_setspecific(key_, this);
  return true;
}

void CallRecords::leave_out_this_thread() { thread_.left_out = true; }

// The key's value is the CallRecords.
void CallRecords::thread_ends(void* records) noexcept {
  auto& self = *static_cast<CallRecords*>(records);
  const auto has_slot = [&] {
    return thread_.has_slot && thread_.epoch / trace_step == self.epoch_.load() / trace_step;
  };
  // In the child of a fork nobody may ever unlock it.
  if (!has_slot()) return;
  const std::lock_guard lock(self.leaving_);
  if (!has_slot()) return;
  thread_.has_slot = false;
  self.arena_.slot_header(thread_.slot)
      .state.store(SlotState::calls_done, std::memory_order_release);
}

}  // namespace gpuprof::collect
