#include "libprof/collect/call_records.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace gpuprof::collect {
namespace {

// Calls within calls: a driver call may call back the application, which may make more calls. Any
// deeper ones have no records.
constexpr std::size_t most_open = 8;

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

  std::uint64_t epoch = 0;
  std::uint32_t depth = 0;
  std::array<Open, most_open> open{};
  Open wait{};
  bool waited = false;  // in the call that is open
};

constinit thread_local CallRecords::Thread CallRecords::thread_;

void CallRecords::begin(CheckedApi& cupti) {
  cupti_ = &cupti;
  epoch_.store(slots_.trace() << 32, std::memory_order_release);
}

CallRecords::Thread& CallRecords::here() {
  Thread& thread = thread_;
  const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
  if (thread.epoch == epoch) return thread;
  thread.depth = 0;
  thread.epoch = epoch;
  return thread;
}

void CallRecords::enter(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData& call) {
  if (slots_.here().left_out) return;
  Thread& thread = here();
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (!runtime && thread.depth > 0 && thread.open[thread.depth - 1].runtime) return;
  if (thread.depth == most_open) return;
  thread.open[thread.depth++] = {runtime, id, call.correlationId, slots_.now()};
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
  ThreadSlots::Thread& slot = slots_.here();
  CUpti_ActivityAPI record{};
  record.kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = id;
  record.start = thread.open[thread.depth].start;
  record.end = std::max(record.start, slots_.now());
  record.processId = slots_.process();
  record.threadId = slot.id;
  record.correlationId = call.correlationId;
  record.returnValue = result_of(call);
  add(slot, record);
  return ends_waiting(thread);
}

bool CallRecords::ends_waiting(Thread& thread) {
  return thread.depth == 0 && std::exchange(thread.waited, false);
}

void CallRecords::enter_wait(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  Thread& thread = here();
  if (!slots_.here().left_out) thread.wait = {false, id, call.correlationId, slots_.now()};
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
  record.end = std::max(open.start, slots_.now());
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
  add(slots_.here(), record);
  thread.waited |= wait.type != CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  return ends_waiting(thread);
}

template <class Record>
void CallRecords::add(ThreadSlots::Thread& thread, const Record& record) {
  static_assert(sizeof record % 8 == 0);
  if (!slots_.make_room(thread, sizeof record)) return slots_.count_lost(record.kind);
  std::memcpy(slots_.slot(thread) + thread.used, &record, sizeof record);
  slots_.written(thread, sizeof record);
}

}  // namespace gpuprof::collect
