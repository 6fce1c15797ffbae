// Driver functions and events whose callbacks matter, by CUPTI's numbers.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <utility>

namespace gpuprof::collect {

// Without a loop: the standard library's search of such an array is a call into the C library,
// whose code is cold during a program's calls.
template <std::size_t count>
constexpr bool is_one_of(const std::array<CUpti_CallbackId, count>& all, CUpti_CallbackId id) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) { return ((id == all[i]) || ...); }
  (std::make_index_sequence<count>());
}

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

inline bool is_kernel_launch(CUpti_CallbackId id) { return is_one_of(kernel_launches, id); }

inline constexpr std::array<CUpti_CallbackId, 2> graph_launches{
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};

inline bool is_graph_launch(CUpti_CallbackId id) { return is_one_of(graph_launches, id); }

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

inline bool is_module_unload(CUpti_CallbackId id) { return is_one_of(module_unloads, id); }

// A node of a graph was made, by itself or as a clone of another one, or took over the other's
// work; a graph ends.
inline constexpr std::array<CUpti_CallbackId, 5> graph_node_events{
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING};

inline bool is_graph_node_event(CUpti_CallbackId id) { return is_one_of(graph_node_events, id); }

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

inline bool is_green_call(CUpti_CallbackId id) { return is_one_of(green_calls, id); }

enum class Capture { none, begins, ends };

inline Capture capture_of(CUpti_CallbackId id) {
  if (is_one_of(capture_begins, id)) return Capture::begins;
  if (is_one_of(capture_ends, id)) return Capture::ends;
  return Capture::none;
}

}  // namespace gpuprof::collect
