// Driver functions and events whose callbacks matter, by CUPTI's numbers.
#pragma once

#include <cupti.h>

#include <algorithm>
#include <array>

namespace gpuprof::collect {

inline constexpr std::array<CUpti_CallbackId, 2> profiler_calls{
    CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop};

// Runtime launches also go through these.
inline constexpr std::array<CUpti_CallbackId, 6> kernel_launches{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

inline bool is_kernel_launch(CUpti_CallbackId id) {
  return std::ranges::find(kernel_launches, id) != kernel_launches.end();
}

inline constexpr std::array<CUpti_CallbackId, 2> graph_launches{
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};

inline bool is_graph_launch(CUpti_CallbackId id) {
  return id == graph_launches[0] || id == graph_launches[1];
}

// Waits of the host for a context, stream or event, and of a stream for an event. Runtime calls
// that wait also go through these.
inline constexpr std::array<CUpti_CallbackId, 7> waiting_calls{
    CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent,
    CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz,
};

inline constexpr std::array<CUpti_CallbackId, 2> module_unloads{
    CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload};

inline bool is_module_unload(CUpti_CallbackId id) {
  return id == module_unloads[0] || id == module_unloads[1];
}

// A node of a graph was made, by itself or as a clone of another one, or took over the other's
// work; a graph ends.
inline constexpr std::array<CUpti_CallbackId, 5> graph_node_events{
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING};

inline bool is_graph_node_event(CUpti_CallbackId id) {
  return std::ranges::find(graph_node_events, id) != graph_node_events.end();
}

// Stream capture.
inline constexpr std::array<CUpti_CallbackId, 6> capture_begins{
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
};
inline constexpr std::array<CUpti_CallbackId, 2> capture_ends{
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz};

// Green contexts and their streams are made and destroyed.
inline constexpr std::array<CUpti_CallbackId, 4> green_calls{
    CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate,
    CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy,
    CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate,
    CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2,
};

inline bool is_green_call(CUpti_CallbackId id) {
  return std::ranges::find(green_calls, id) != green_calls.end();
}

enum class Capture { none, begins, ends };

inline Capture capture_of(CUpti_CallbackId id) {
  if (std::ranges::find(capture_begins, id) != capture_begins.end()) return Capture::begins;
  if (std::ranges::find(capture_ends, id) != capture_ends.end()) return Capture::ends;
  return Capture::none;
}

}  // namespace gpuprof::collect
