// GPU work: kernels, copies, sets, graph launches, decompression, context switches.
#pragma once

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#ifdef GPUPROF_HAVE_CUPTI
namespace extract {
// nvprof stores the host pointer of the access policy window, which is meaningless outside the
// target.
inline void zero_pointer(const auto&, std::uint32_t, std::byte* out) {
  for (int i = 0; i < 8; ++i) out[i] = std::byte{0};
}
}  // namespace extract
#endif

#define GPUPROF_TIMES                                                                              \
  COL(u64, start, "[ns] start on the GPU, on CUPTI's clock; 0 = not collected"),                   \
      COL(u64, end, "[ns] end on the GPU, on CUPTI's clock; 0 = not collected")

// The same for tables that nvprof does not have: see own_times in schema/database.hpp.
#define GPUPROF_OWN_TIMES                                                         \
  COL(u64, start, "[ns] start on the GPU, on CUPTI's clock; 0 = not collected"),  \
      COL_AS(u64, "stop", end, "[ns] end on the GPU, on CUPTI's clock; 0 = not collected")

#define GPUPROF_WHERE                                                    \
  COL(u32, deviceId, "device that ran it"),                              \
      COL(u32, contextId, "context that ran it; ids start at 1"),        \
      COL(u32, streamId, "stream that ran it")

#define GPUPROF_CHANNEL                                                        \
  COL(u32, channelID, "hardware channel it was submitted on"),                 \
      COL(u32, channelType, "type of that channel: enum CUpti_ChannelType")

#define GPUPROF_SOURCE_GRAPH                                                                     \
  since(130400, COL(u32, sourceGraphId, "graph it was defined in, before cloning; 0 = none")),   \
      since(130400, COL(u64, sourceGraphNodeId, "node it was defined as, before cloning; 0 = none"))

inline constexpr GpuWork memory_copy{.type = "memcpy",
                                     .named_by = "copyKind",
                                     .named = "CUpti_ActivityMemcpyKind",
                                     .name = "[CUDA memcpy *]",
                                     .bytes = "bytes"};
inline constexpr GpuWork kernel{.type = "kernel", .named_by = "name"};

TRAITS(Memcpy, .gpu_work = memory_copy, .nvprofs = true)
KIND(Memcpy, 1, MEMCPY, CUpti_ActivityMemcpy7, gpu, enable,
     "Memory copies, one row each; copies between two contexts are in MEMCPY2.",
     COL(u8, copyKind, "direction: enum CUpti_ActivityMemcpyKind"),
     COL(u8, srcKind, "kind of memory read: enum CUpti_ActivityMemoryKind"),
     COL(u8, dstKind, "kind of memory written: enum CUpti_ActivityMemoryKind"),
     COL(u8, flags, "bit 0: asynchronous"),
     COL(u64, bytes, "[bytes] how much was copied"),
     GPUPROF_TIMES, GPUPROF_WHERE,
     CORRELATION(correlationId, "joins the API call that asked for it"),
     CORRELATION(runtimeCorrelationId, "set by old CUPTI versions only"),
     COL(u64, graphNodeId, "node of an executable CUDA graph; 0 = not from a graph"),
     COL(u32, graphId, "executable CUDA graph; 0 = not from a graph"),
     GPUPROF_CHANNEL,
     since(130000, COL(u8, isDeviceLaunched, "1 = asked for by a graph launched on the device")),
     since(26, COL(u64, copyCount, "[count] copies of a batched copy")),
     GPUPROF_SOURCE_GRAPH)

TRAITS(Memset,
       .gpu_work = GpuWork{.type = "memset", .name = "[CUDA memset]", .bytes = "bytes"},
       .nvprofs = true)
KIND(Memset, 2, MEMSET, CUpti_ActivityMemset5, gpu, enable, "Memory sets, one row each.",
     COL(u32, value, "value written"),
     COL(u64, bytes, "[bytes] how much was written"),
     GPUPROF_TIMES, GPUPROF_WHERE,
     CORRELATION(correlationId, "joins the API call that asked for it"),
     COL(u16, flags, "bit 0: asynchronous"),
     COL(u16, memoryKind, "kind of memory written: enum CUpti_ActivityMemoryKind"),
     COL(u64, graphNodeId, "node of an executable CUDA graph; 0 = not from a graph"),
     COL(u32, graphId, "executable CUDA graph; 0 = not from a graph"),
     GPUPROF_CHANNEL,
     since(130000, COL(u8, isDeviceLaunched, "1 = asked for by a graph launched on the device")),
     GPUPROF_SOURCE_GRAPH)

#define GPUPROF_KERNEL_FIELDS                                                                      \
  BLOB(1, cacheConfig, "low 4 bits requested, high 4 bits executed cache configuration"),          \
      COL(u8, sharedMemoryConfig, "shared memory bank size: enum CUsharedconfig"),                 \
      COL(u16, registersPerThread, "[count] registers per thread"),                                \
      COL(u32, partitionedGlobalCacheRequested, "enum CUpti_ActivityPartitionedGlobalCacheConfig"),\
      COL(u32, partitionedGlobalCacheExecuted, "enum CUpti_ActivityPartitionedGlobalCacheConfig"), \
      GPUPROF_TIMES,                                                                               \
      COL(u64, completed, "[ns] when child kernels were done too; equals end without children"),   \
      GPUPROF_WHERE,                                                                               \
      COL(i32, gridX, "[count] blocks in x"), COL(i32, gridY, "[count] blocks in y"),              \
      COL(i32, gridZ, "[count] blocks in z"), COL(i32, blockX, "[count] threads of a block in x"), \
      COL(i32, blockY, "[count] threads of a block in y"),                                         \
      COL(i32, blockZ, "[count] threads of a block in z"),                                         \
      COL(i32, staticSharedMemory, "[bytes] static shared memory per block"),                      \
      COL(i32, dynamicSharedMemory, "[bytes] dynamic shared memory per block"),                    \
      COL(u32, localMemoryPerThread, "[bytes] local memory per thread"),                           \
      COL(u32, localMemoryTotal, "[bytes] local memory of the launch, cut to 32 bits"),            \
      CORRELATION(correlationId, "joins the API call that launched it"),                           \
      COL(i64, gridId, "number of the launch in CUPTI"),                                           \
      STR(name, "mangled name: StringTable id"),                                                   \
      COL(u64, queued, "[ns] put into the command buffer; 0 = not collected"),                     \
      COL(u64, submitted, "[ns] submitted to the GPU; 0 = not collected"),                         \
      COL(u8, launchType, "enum CUpti_ActivityLaunchType"),                                        \
      COL(u8, isSharedMemoryCarveoutRequested, "1 = a carveout was asked for"),                    \
      COL(u8, sharedMemoryCarveoutRequested, "[%] carveout asked for"),                            \
      COL(u32, sharedMemoryExecuted, "[bytes] shared memory size set for the launch"),             \
      COL(u64, graphNodeId, "node of an executable CUDA graph; 0 = not from a graph"),             \
      COL(u32, shmemLimitConfig, "enum CUpti_FuncShmemLimitConfig"),                               \
      COL(u32, graphId, "executable CUDA graph; 0 = not from a graph"),                            \
      CUSTOM(blob, 8, "pAccessPolicyWindow", extract::zero_pointer, "8 zero bytes, as in nvprof"), \
      GPUPROF_CHANNEL, COL(u32, clusterX, "[count] blocks of a cluster in x; 0 = no clusters"),    \
      COL(u32, clusterY, "[count] blocks of a cluster in y"),                                      \
      COL(u32, clusterZ, "[count] blocks of a cluster in z"),                                      \
      COL(u32, clusterSchedulingPolicy, "enum CUclusterSchedulingPolicy"),                         \
      COL(u64, localMemoryTotal_v2, "[bytes] local memory of the launch"),                         \
      COL(u32, maxPotentialClusterSize, "[count] largest cluster the launch could use"),           \
      COL(u32, maxActiveClusters, "[count] clusters that can run at a time"),                      \
      since(130000, COL(u8, isDeviceLaunched, "1 = from a graph launched on the device")),         \
      since(130100, COL(i32, priority, "priority of the launch")),                                 \
      since(130300, COL(u32, executionModel, "enum CUpti_FuncExecutionModel")),                    \
      GPUPROF_SOURCE_GRAPH

TRAITS(Kernel, .gpu_work = kernel, .nvprofs = true)
KIND(Kernel, 3, KERNEL, CUpti_ActivityKernel13, serial, enable,
     "Kernels run one at a time (--concurrent-kernels off).", GPUPROF_KERNEL_FIELDS)

TRAITS(ConcurrentKernel, .gpu_work = kernel, .nvprofs = true)
KIND(ConcurrentKernel, 10, CONCURRENT_KERNEL, CUpti_ActivityKernel13, gpu, enable,
     "Kernels, one row per execution on the GPU, nodes of CUDA graphs included.",
     GPUPROF_KERNEL_FIELDS)

TRAITS(Memcpy2, .gpu_work = memory_copy, .nvprofs = true)
KIND(Memcpy2, 22, MEMCPY2, CUpti_ActivityMemcpyPtoP4, gpu, with_other,
     "Memory copies between two contexts or devices, one row each.",
     COL(u8, copyKind, "direction: enum CUpti_ActivityMemcpyKind"),
     COL(u8, srcKind, "kind of memory read: enum CUpti_ActivityMemoryKind"),
     COL(u8, dstKind, "kind of memory written: enum CUpti_ActivityMemoryKind"),
     COL(u8, flags, "bit 0: asynchronous"),
     COL(u64, bytes, "[bytes] how much was copied"),
     GPUPROF_TIMES, GPUPROF_WHERE,
     COL(u32, srcDeviceId, "device read from"), COL(u32, srcContextId, "context read from"),
     COL(u32, dstDeviceId, "device written to"), COL(u32, dstContextId, "context written to"),
     CORRELATION(correlationId, "joins the API call that asked for it"),
     COL(u64, graphNodeId, "node of an executable CUDA graph; 0 = not from a graph"),
     COL(u32, graphId, "executable CUDA graph; 0 = not from a graph"),
     GPUPROF_CHANNEL)

TRAITS(GraphTrace, .gpu_work = GpuWork{.type = "graph", .name = "[CUDA graph]"})
KIND(GraphTrace, 51, GRAPH_TRACE, CUpti_ActivityGraphTrace2, graph, enable,
     "Launches of CUDA graphs as a whole, instead of their nodes.",
     CORRELATION(correlationId, "joins the API call that launched it"),
     GPUPROF_TIMES,
     COL(u32, deviceId, "device of the first node"), COL(u32, graphId, "executable CUDA graph"),
     COL(u32, contextId, "context of the first node"), COL(u32, streamId, "stream of the launch"),
     COL(u32, endDeviceId, "device of the last node"),
     COL(u32, endContextId, "context of the last node"))

// Already covered by GRAPH_TRACE or by the graph's kernels, so it is not GPU work itself.
KIND(DeviceGraphTrace, 53, DEVICE_GRAPH_TRACE, CUpti_ActivityDeviceGraphTrace, graph, with_other,
     "CUDA graphs launched by kernels.",
     COL(u32, deviceId, "device that ran it"),
     GPUPROF_OWN_TIMES,
     COL(u32, graphId, "executable CUDA graph"),
     COL(u32, launcherGraphId, "graph whose kernel launched it"),
     COL(u32, deviceLaunchMode, "enum CUpti_DeviceGraphLaunchMode"),
     COL(u32, contextId, "context that ran it"), COL(u64, streamId, "stream that ran it"))

TRAITS(MemDecompress, .gpu_work = GpuWork{.type = "decompress",
                                          .name = "[CUDA memory decompression]",
                                          .bytes = "sourceBytes"})
KIND(MemDecompress, 54, MEM_DECOMPRESS, CUpti_ActivityMemDecompress, gpu, enable,
     "Batches of the decompression engine (Blackwell). Nobody has seen a row here yet.",
     GPUPROF_WHERE, GPUPROF_CHANNEL,
     CORRELATION(correlationId, "joins the API call that asked for it"),
     COL(u32, numberOfOperations, "[count] operations of the batch"),
     COL(u64, sourceBytes, "[bytes] how much was read, compressed"),
     GPUPROF_OWN_TIMES)

KIND(ConfidentialComputeRotation, 55, CONFIDENTIAL_COMPUTE_ROTATION,
     CUpti_ActivityConfidentialComputeRotation, gpu, enable,
     "Key rotations of confidential computing, during which the channel waits. Nobody has seen a "
     "row here yet.",
     COL(u32, eventType, "enum CUpti_ConfidentialComputeRotationEventType"),
     COL(u32, deviceId, "device"), COL(u32, contextId, "context"),
     COL(u32, channelId, "hardware channel"),
     COL(u32, channelType, "type of that channel: enum CUpti_ChannelType"),
     COL_AS(u64, "time", timestamp, "[ns] when, on CUPTI's clock"))

KIND(ComputeEngineCtxSwitch, 57, COMPUTE_ENGINE_CTX_SWITCH, CUpti_ActivityComputeEngineCtxSwitch,
     context_switch, enable,
     "Switches of the compute engine between contexts. Not on MIG and vGPU.",
     COL(u32, contextId, "context switched to or from"),
     COL_AS(u64, "time", timestamp, "[ns] when, on CUPTI's clock"),
     COL(u32, operationType, "enum CUpti_ComputeEngineCtxSwitchOperationType"))

// In report order.
using GpuWorkKinds = std::tuple<Kernel, ConcurrentKernel, Memcpy, Memcpy2, Memset, GraphTrace,
                                DeviceGraphTrace, MemDecompress, ConfidentialComputeRotation,
                                ComputeEngineCtxSwitch>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
