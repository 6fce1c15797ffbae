#include "libprof/collect/call_records.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace gpuprof::collect {
namespace {

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

void CallRecords::begin(CheckedApi& cupti) {
  cupti_ = &cupti;
  epoch_.store(slots_.trace() << 32, std::memory_order_release);
}

OpenCalls& CallRecords::calls_of(ThreadSlots::Thread& thread) {
  OpenCalls& calls = thread.calls;
  const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);
  if (calls.epoch == epoch) return calls;
  calls.depth = 0;
  calls.epoch = epoch;
  return calls;
}

void CallRecords::enter(ThreadSlots::Thread& thread, CUpti_CallbackDomain domain,
                        CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (thread.left_out) return;
  OpenCalls& calls = calls_of(thread);
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (!runtime && calls.depth > 0 && calls.open[calls.depth - 1].runtime) return;
  if (calls.depth == OpenCalls::most) return;
  calls.open[calls.depth++] = {runtime, id, call.correlationId, slots_.now()};
}

bool CallRecords::exit(ThreadSlots::Thread& thread, CUpti_CallbackDomain domain,
                       CUpti_CallbackId id, const CUpti_CallbackData& call) {
  OpenCalls& calls = calls_of(thread);
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  std::uint32_t at = calls.depth;
  while (at > 0) {
    const OpenCalls::Call& open = calls.open[at - 1];
    if (open.id == id && open.runtime == runtime && open.correlation == call.correlationId) break;
    --at;
  }
  if (at == 0) return false;
  calls.depth = at - 1;
  CUpti_ActivityAPI record{};
  record.kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = id;
  record.start = calls.open[calls.depth].start;
  record.end = std::max(record.start, slots_.now());
  record.processId = slots_.process();
  record.threadId = thread.id;
  record.correlationId = call.correlationId;
  record.returnValue = result_of(call);
  add(thread, record);
  return ends_waiting(calls);
}

bool CallRecords::ends_waiting(OpenCalls& calls) {
  return calls.depth == 0 && std::exchange(calls.waited, false);
}

void CallRecords::enter_wait(ThreadSlots::Thread& thread, CUpti_CallbackId id,
                             const CUpti_CallbackData& call) {
  OpenCalls& calls = calls_of(thread);
  if (!thread.left_out) calls.wait = {false, id, call.correlationId, slots_.now()};
}

bool CallRecords::exit_wait(ThreadSlots::Thread& thread, CUpti_CallbackId id,
                            const CUpti_CallbackData& call) {
  OpenCalls& calls = calls_of(thread);
  const OpenCalls::Call open = std::exchange(calls.wait, {});
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
  add(thread, record);
  calls.waited |= wait.type != CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  return ends_waiting(calls);
}

template <class Record>
void CallRecords::add(ThreadSlots::Thread& thread, const Record& record) {
  static_assert(sizeof record % 8 == 0);
  if (!slots_.make_room(thread, sizeof record)) return slots_.count_lost(record.kind);
  std::memcpy(thread.end(), &record, sizeof record);
  thread.written(sizeof record);
}

}  // namespace gpuprof::collect
