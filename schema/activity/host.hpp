// Other host activity: waits, events, host functions, compilation, ids pushed by frameworks, and
// the time used by the tool itself.
#pragma once

#include "schema/activity/api.hpp"
#include "schema/activity/markers.hpp"
#include <cstdlib>

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#ifdef GPUPROF_HAVE_CUPTI
namespace extract {
using FullCommandBuffer = CUpti_ActivityOverheadCommandBufferFullData;

// CUPTI attaches details through a pointer for only one kind of overhead.
template <auto Member>
void command_buffer(const CUpti_ActivityOverhead3& record, std::uint32_t, std::byte* out) {
  const auto* data = static_cast<const FullCommandBuffer*>(record.overheadData);
  const bool there =
      number_of(record.overheadKind) == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL &&
      data != nullptr;
  put(out, there ? data->*Member : null_u32);
}
}  // namespace extract
#endif

KIND(Overhead, 17, OVERHEAD, CUpti_ActivityOverhead3, overhead, enable,
     "Time that CUPTI and the driver say they took themselves: compiling, loading, flushing.",
     COL(u32, overheadKind, "what took the time: enum CUpti_ActivityOverheadKind"),
     GPUPROF_OBJECT,
     GPUPROF_HOST_TIMES,
     CORRELATION(correlationId, "joins the API call it happened in; 0 = none"),
     GPUPROF_OBJECT_IDS,
     follows_pointer(NULLABLE(
         u32, "channelID", extract::command_buffer<&extract::FullCommandBuffer::channelID>,
         "hardware channel whose command buffer was full; NULL for other overheads")),
     follows_pointer(NULLABLE(
         u32, "channelType", extract::command_buffer<&extract::FullCommandBuffer::channelType>,
         "type of that channel: enum CUpti_ChannelType; NULL for other overheads")))

#ifdef GPUPROF_HAVE_CUPTI
template <>
inline void release<Overhead>(const CUpti_ActivityOverhead3& record) {
  if (record.overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL) {
    std::free(record.overheadData);
  }
}
#endif

KIND(CudaEvent, 36, CUDA_EVENT, CUpti_ActivityCudaEvent3, cuda_event, enable,
     "CUDA events recorded in a stream.",
     CORRELATION(correlationId, "joins the API call that recorded the event"),
     COL(u32, contextId, "context the event was recorded in"),
     COL(u32, streamId, "stream the event was recorded in"),
     COL(u32, eventId, "the CUDA event; one event can be recorded many times"),
     since(26, COL(u32, deviceId, "device the event was recorded on")),
     since(26, COL_AS(u64, "deviceTime", deviceTimestamp,
                      "[ns] when the GPU reached the event, on CUPTI's clock; 0 = not collected")),
     since(26, COL(u64, cudaEventSyncId,
                   "this recording of the event; SYNCHRONIZATION.cudaEventSyncId waits for it")),
     since(130500, COL(u64, graphNodeId, "node of an executable CUDA graph; 0 = not from a graph")),
     since(130500, COL(u32, graphId, "executable CUDA graph; 0 = not from a graph")),
     since(130500, COL(u32, sourceGraphId, "graph it was defined in, before cloning; 0 = none")),
     since(130500,
           COL(u64, sourceGraphNodeId, "node it was defined as, before cloning; 0 = none")))

KIND(Synchronization, 38, SYNCHRONIZATION, CUpti_ActivitySynchronization2, sync, enable,
     "Waits: of the host for an event, stream or context, of a stream for an event.",
     COL(u32, type, "what was waited for: enum CUpti_ActivitySynchronizationType"),
     GPUPROF_HOST_TIMES,
     CORRELATION(correlationId, "joins the API call that waited"),
     COL(u32, contextId, "context waited for, or that the stream or event was made in"),
     COL(u32, streamId, "stream waited for, or that waits; 4294967295 = none"),
     COL(u32, cudaEventId,
         "event waited for: CUDA_EVENT.eventId, or where that kind is not collected a number that "
         "all waits for it have; 4294967295 = none"),
     since(26, COL(u64, cudaEventSyncId,
                   "recording waited for: CUDA_EVENT.cudaEventSyncId; 4294967295 = none")),
     since(26, COL(u32, returnValue, "what the wait returned: CUresult; 0 = success")))

KIND(ExternalCorrelation, 39, EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation, external,
     enable, "Ids that a framework or tool pushed around CUDA calls, one row per call made inside.",
     COL(u32, externalKind, "who pushed the id: enum CUpti_ExternalCorrelationKind"),
     COL(u64, externalId, "the id that was pushed"),
     CORRELATION(correlationId, "joins the API call made while the id was on top"))

KIND(Jit, 52, JIT, CUpti_ActivityJit2, jit, enable,
     "Run-time compilation of PTX, and its cache on disk.",
     COL(u32, jitEntryType, "what was compiled into what: enum CUpti_ActivityJitEntryType"),
     COL(u32, jitOperationType, "compiled, loaded or stored: enum CUpti_ActivityJitOperationType"),
     COL(u32, deviceId, "device it was compiled for"),
     GPUPROF_HOST_TIMES,
     CORRELATION(correlationId, "joins the API call it happened in"),
     COL(u64, jitOperationCorrelationId, "the same for the steps of one compilation"),
     COL(u64, cacheSize, "[bytes] size of the compute cache"),
     STR(cachePath, "file in the compute cache: StringTable id; 0 = none"),
     since(130100, COL(u32, threadId, "thread that did it; 0 = not reported by this CUPTI")))

KIND(GraphHostNode, 56, GRAPH_HOST_NODE, CUpti_ActivityGraphHostNode, host, enable,
     "Host functions that ran as nodes of CUDA graphs. The driver of CUDA 13.0 delivers none.",
     COL(u32, streamId, "stream that waited for it"),
     COL(u32, contextId, "context of that stream"),
     COL(u32, deviceId, "device of that stream"),
     CORRELATION(correlationId, "joins the API call that launched the graph"),
     COL(u32, graphId, "executable CUDA graph"),
     COL(u64, graphNodeId, "node of that graph"),
     COL(u32, threadId, "thread that ran the function"),
     GPUPROF_OWN_HOST_TIMES)

KIND(HostLaunch, 58, HOST_LAUNCH, CUpti_ActivityHostLaunch, host, enable,
     "Host functions put into a stream (cudaLaunchHostFunc). The driver of CUDA 13.0 delivers "
     "none.",
     COL(u32, streamId, "stream that waited for it"),
     COL(u32, contextId, "context of that stream"),
     COL(u32, deviceId, "device of that stream"),
     CORRELATION(correlationId, "joins the API call that put it into the stream"),
     COL(u32, threadId, "thread that ran the function"),
     GPUPROF_OWN_HOST_TIMES)

using HostKinds = std::tuple<Overhead, CudaEvent, Synchronization, ExternalCorrelation, Jit,
                             GraphHostNode, HostLaunch>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
