// Names of numbers in the database: the contents of table ENUM_NAME. A column's doc names its enum.
// Names are nvprof's where it prints one (HtoD, Pageable, acc_wait).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

struct EnumValue {
  std::int64_t value;
  std::string_view name;
};

struct EnumType {
  std::string_view name;
  std::span<const EnumValue> values;
};

// clang-format off

// With CUPTI's headers each number is checked against them.
#ifdef GPUPROF_HAVE_CUPTI
template <std::int64_t Ours, std::uint32_t Theirs>
constexpr std::int64_t same_number() {
  static_assert(Ours == Theirs, "not the number that the headers give this enumerator");
  return Ours;
}
#define NAMED(enumerator_, value_, name_) \
  EnumValue{same_number<value_, static_cast<std::uint32_t>(enumerator_)>(), name_}
#else
#define NAMED(enumerator_, value_, name_) EnumValue{value_, name_}
#endif

namespace enums {

// Memory copies and memory.

inline constexpr EnumValue CUpti_ActivityMemcpyKind[]{
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1, "HtoD"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 2, "DtoH"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, 3, "HtoA"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, 4, "AtoH"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, 5, "AtoA"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, 6, "AtoD"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_DTOA, 7, "DtoA"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 8, "DtoD"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, 9, "HtoH"),
    NAMED(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, 10, "PtoP"),
};

inline constexpr EnumValue CUpti_ActivityMemoryKind[]{
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, 1, "Pageable"),
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 2, "Pinned"),
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 3, "Device"),
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_ARRAY, 4, "Array"),
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, 5, "Managed"),
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC, 6, "DeviceStatic"),
    NAMED(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC, 7, "ManagedStatic"),
};

inline constexpr EnumValue CUpti_ActivityMemoryOperationType[]{
    NAMED(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_INVALID, 0, "invalid"),
    NAMED(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 1, "allocation"),
    NAMED(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, 2, "release"),
};

inline constexpr EnumValue CUpti_ActivityMemoryPoolType[]{
    NAMED(CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID, 0, "invalid"),
    NAMED(CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL, 1, "local"),
    NAMED(CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED, 2, "imported"),
};

inline constexpr EnumValue CUpti_ActivityMemoryPoolOperationType[]{
    NAMED(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_INVALID, 0, "invalid"),
    NAMED(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 1, "created"),
    NAMED(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, 2, "destroyed"),
    NAMED(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, 3, "trimmed"),
};

inline constexpr EnumValue CUpti_ActivityUnifiedMemoryCounterKind[]{
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 1, "HtoD"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, 2, "DtoH"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, 3, "CPU page faults"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 4, "GPU page faults"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING, 5, "page thrash"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING, 6, "page throttle"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP, 7, "remote map"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, 8, "DtoD"),
};

inline constexpr EnumValue CUpti_ActivityUnifiedMemoryAccessType[]{
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ, 1, "read"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE, 2, "write"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC, 3, "atomic"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH, 4, "prefetch"),
};

inline constexpr EnumValue CUpti_ActivityUnifiedMemoryMigrationCause[]{
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER, 1, "user"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE, 2, "coherence"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH, 3, "prefetch"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION, 4, "eviction"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS, 5, "access counters"),
};

inline constexpr EnumValue CUpti_ActivityUnifiedMemoryRemoteMapCause[]{
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_COHERENCE, 1, "coherence"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_THRASHING, 2, "thrashing"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_POLICY, 3, "policy"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_OUT_OF_MEMORY, 4, "out of memory"),
    NAMED(CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_EVICTION, 5, "eviction"),
};

// Kernels and graphs.

inline constexpr EnumValue CUpti_ActivityLaunchType[]{
    NAMED(CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR, 0, "regular"),
    NAMED(CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE, 1, "cooperative"),
    NAMED(CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE, 2, "cooperative over devices"),
    NAMED(CUPTI_ACTIVITY_LAUNCH_TYPE_CBL_COMMANDLIST, 3, "command list"),
};

inline constexpr EnumValue CUpti_ActivityPartitionedGlobalCacheConfig[]{
    NAMED(CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED, 1, "not supported"),
    NAMED(CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_OFF, 2, "off"),
    NAMED(CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_ON, 3, "on"),
};

inline constexpr EnumValue CUpti_FuncShmemLimitConfig[]{
    NAMED(CUPTI_FUNC_SHMEM_LIMIT_DEFAULT, 0, "default"),
    NAMED(CUPTI_FUNC_SHMEM_LIMIT_OPTIN, 1, "opt-in"),
};

inline constexpr EnumValue CUpti_FuncExecutionModel[]{
    NAMED(CUPTI_FUNC_EXECUTION_MODEL_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_FUNC_EXECUTION_MODEL_SIMT, 1, "SIMT"),
    NAMED(CUPTI_FUNC_EXECUTION_MODEL_TILE, 2, "tile"),
    NAMED(CUPTI_FUNC_EXECUTION_MODEL_HYBRID, 3, "hybrid"),
};

inline constexpr EnumValue CUpti_ChannelType[]{
    NAMED(CUPTI_CHANNEL_TYPE_INVALID, 0, "invalid"),
    NAMED(CUPTI_CHANNEL_TYPE_COMPUTE, 1, "compute"),
    NAMED(CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY, 2, "asynchronous copy"),
    NAMED(CUPTI_CHANNEL_TYPE_DECOMP, 3, "decompression"),
};

inline constexpr EnumValue CUpti_DeviceGraphLaunchMode[]{
    NAMED(CUPTI_DEVICE_GRAPH_LAUNCH_MODE_INVALID, 0, "invalid"),
    NAMED(CUPTI_DEVICE_GRAPH_LAUNCH_MODE_FIRE_AND_FORGET, 1, "fire and forget"),
    NAMED(CUPTI_DEVICE_GRAPH_LAUNCH_MODE_TAIL, 2, "tail"),
    NAMED(CUPTI_DEVICE_GRAPH_LAUNCH_MODE_FIRE_AND_FORGET_AS_SIBLING, 3,
          "fire and forget as sibling"),
};

inline constexpr EnumValue CUpti_ConfidentialComputeRotationEventType[]{
    NAMED(CUPTI_CONFIDENTIAL_COMPUTE_INVALID_ROTATION_EVENT, 0, "invalid"),
    NAMED(CUPTI_CONFIDENTIAL_COMPUTE_KEY_ROTATION_CHANNEL_BLOCKED, 1, "channel blocked"),
    NAMED(CUPTI_CONFIDENTIAL_COMPUTE_KEY_ROTATION_CHANNEL_DRAINED, 2, "channel drained"),
    NAMED(CUPTI_CONFIDENTIAL_COMPUTE_KEY_ROTATION_CHANNEL_UNBLOCKED, 3, "channel unblocked"),
};

inline constexpr EnumValue CUpti_ComputeEngineCtxSwitchOperationType[]{
    NAMED(CUPTI_COMPUTE_ENGINE_CTX_SWITCH_OPERATION_INVALID, 0, "invalid"),
    NAMED(CUPTI_COMPUTE_ENGINE_CTX_SWITCH_OPERATION_START, 1, "start"),
    NAMED(CUPTI_COMPUTE_ENGINE_CTX_SWITCH_OPERATION_END, 2, "end"),
};

inline constexpr EnumValue CUsharedconfig[]{
    NAMED(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE, 0, "default"),
    NAMED(CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, 1, "four bytes"),
    NAMED(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE, 2, "eight bytes"),
};

inline constexpr EnumValue CUclusterSchedulingPolicy[]{
    NAMED(CU_CLUSTER_SCHEDULING_POLICY_DEFAULT, 0, "default"),
    NAMED(CU_CLUSTER_SCHEDULING_POLICY_SPREAD, 1, "spread"),
    NAMED(CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING, 2, "load balancing"),
    NAMED(CU_CLUSTER_SCHEDULING_POLICY_RUBIN_DSMEM_LOCALITY, 3, "DSMEM locality"),
};

// The host.

inline constexpr EnumValue CUpti_ActivitySynchronizationType[]{
    NAMED(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 1, "event synchronize"),
    NAMED(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 2, "stream wait event"),
    NAMED(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 3, "stream synchronize"),
    NAMED(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, 4, "context synchronize"),
};

inline constexpr EnumValue CUpti_ActivityOverheadKind[]{
    NAMED(CUPTI_ACTIVITY_OVERHEAD_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, 1, "driver compiler"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, 65536, "CUPTI buffer flush"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, 131072, "CUPTI instrumentation"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, 196608, "CUPTI resource"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, 262144, "module loading"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, 327680, "lazy function loading"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, 393216, "command buffer full"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, 458752, "CUPTI buffer request"),
    NAMED(CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT, 524288, "unified memory tracing start-up"),
};

inline constexpr EnumValue CUpti_ActivityObjectKind[]{
    NAMED(CUPTI_ACTIVITY_OBJECT_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_OBJECT_PROCESS, 1, "process"),
    NAMED(CUPTI_ACTIVITY_OBJECT_THREAD, 2, "thread"),
    NAMED(CUPTI_ACTIVITY_OBJECT_DEVICE, 3, "device"),
    NAMED(CUPTI_ACTIVITY_OBJECT_CONTEXT, 4, "context"),
    NAMED(CUPTI_ACTIVITY_OBJECT_STREAM, 5, "stream"),
};

inline constexpr EnumValue CUpti_ExternalCorrelationKind[]{
    NAMED(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 0, "invalid"),
    NAMED(CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN, 1, "unknown"),
    NAMED(CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC, 2, "OpenACC"),
    NAMED(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 3, "custom0"),
    NAMED(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 4, "custom1"),
    NAMED(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 5, "custom2"),
};

inline constexpr EnumValue CUpti_ActivityPCSamplingStallReason[]{
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_INVALID, 0, "invalid"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_NONE, 1, "none"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_INST_FETCH, 2, "inst_fetch"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_EXEC_DEPENDENCY, 3, "exec_dependency"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_MEMORY_DEPENDENCY, 4, "memory_dependency"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_TEXTURE, 5, "texture"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_SYNC, 6, "sync"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_CONSTANT_MEMORY_DEPENDENCY, 7,
          "constant_memory_dependency"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_PIPE_BUSY, 8, "pipe_busy"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_MEMORY_THROTTLE, 9, "memory_throttle"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_NOT_SELECTED, 10, "not_selected"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_OTHER, 11, "other"),
    NAMED(CUPTI_ACTIVITY_PC_SAMPLING_STALL_SLEEPING, 12, "sleeping"),
};

inline constexpr EnumValue CUpti_ActivityJitEntryType[]{
    NAMED(CUPTI_ACTIVITY_JIT_ENTRY_INVALID, 0, "invalid"),
    NAMED(CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN, 1, "PTX to cubin"),
    NAMED(CUPTI_ACTIVITY_JIT_ENTRY_NVVM_IR_TO_PTX, 2, "NVVM IR to PTX"),
};

inline constexpr EnumValue CUpti_ActivityJitOperationType[]{
    NAMED(CUPTI_ACTIVITY_JIT_OPERATION_INVALID, 0, "invalid"),
    NAMED(CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD, 1, "cache load"),
    NAMED(CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE, 2, "cache store"),
    NAMED(CUPTI_ACTIVITY_JIT_OPERATION_COMPILE, 3, "compile"),
};

// NVTX.

inline constexpr EnumValue CUpti_ActivityFlag_MARKER[]{
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, 1, "mark"),
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_START, 2, "range start"),
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_END, 4, "range end"),
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE, 8, "acquire"),
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_SUCCESS, 16, "acquired"),
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_FAILED, 32, "not acquired"),
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_SYNC_RELEASE, 64, "release"),
};

inline constexpr EnumValue CUpti_ActivityFlag_MARKER_COLOR[]{
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_COLOR_NONE, 1, "none"),
    NAMED(CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB, 2, "ARGB"),
};

inline constexpr EnumValue CUpti_MetricValueKind[]{
    NAMED(CUPTI_METRIC_VALUE_KIND_DOUBLE, 0, "double"),
    NAMED(CUPTI_METRIC_VALUE_KIND_UINT64, 1, "unsigned integer"),
    NAMED(CUPTI_METRIC_VALUE_KIND_PERCENT, 2, "percent"),
    NAMED(CUPTI_METRIC_VALUE_KIND_THROUGHPUT, 3, "throughput"),
    NAMED(CUPTI_METRIC_VALUE_KIND_INT64, 4, "integer"),
    NAMED(CUPTI_METRIC_VALUE_KIND_UTILIZATION_LEVEL, 5, "utilization level"),
    NAMED(CUPTI_METRIC_VALUE_KIND_NVTX_EXTENDED_PAYLOAD, 6, "NVTX extended payload"),
};

// The machine.

inline constexpr EnumValue CUpti_ActivityComputeApiKind[]{
    NAMED(CUPTI_ACTIVITY_COMPUTE_API_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_COMPUTE_API_CUDA, 1, "CUDA"),
    NAMED(CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS, 2, "CUDA MPS"),
};

inline constexpr EnumValue CUpti_ContextCigMode[]{
    NAMED(CUPTI_CONTEXT_CIG_MODE_NONE, 0, "none"),
    NAMED(CUPTI_CONTEXT_CIG_MODE_CIG, 1, "CIG"),
    NAMED(CUPTI_CONTEXT_CIG_MODE_CIG_FALLBACK, 2, "CIG fallback"),
};

inline constexpr EnumValue CUpti_ActivityStreamFlag[]{
    NAMED(CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT, 1, "default"),
    NAMED(CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING, 2, "non-blocking"),
    NAMED(CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL, 3, "null"),
};

inline constexpr EnumValue CUdevWorkqueueConfigScope[]{
    NAMED(CU_WORKQUEUE_SCOPE_DEVICE_CTX, 0, "device context"),
    NAMED(CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED, 1, "balanced green contexts"),
};

inline constexpr EnumValue CUpti_DevType[]{
    NAMED(CUPTI_DEV_TYPE_INVALID, 0, "invalid"),
    NAMED(CUPTI_DEV_TYPE_GPU, 1, "GPU"),
    NAMED(CUPTI_DEV_TYPE_NPU, 2, "NPU"),
};

inline constexpr EnumValue CUpti_LinkFlag[]{
    NAMED(CUPTI_LINK_FLAG_INVALID, 0, "invalid"),
    NAMED(CUPTI_LINK_FLAG_PEER_ACCESS, 2, "peer access"),
    NAMED(CUPTI_LINK_FLAG_SYSMEM_ACCESS, 4, "system memory access"),
    NAMED(CUPTI_LINK_FLAG_PEER_ATOMICS, 8, "peer atomics"),
    NAMED(CUPTI_LINK_FLAG_SYSMEM_ATOMICS, 16, "system memory atomics"),
};

inline constexpr EnumValue CUpti_PcieDeviceType[]{
    NAMED(CUPTI_PCIE_DEVICE_TYPE_GPU, 0, "GPU"),
    NAMED(CUPTI_PCIE_DEVICE_TYPE_BRIDGE, 1, "bridge"),
};

inline constexpr EnumValue CUpti_PcieGen[]{
    NAMED(CUPTI_PCIE_GEN_GEN1, 1, "generation 1"),
    NAMED(CUPTI_PCIE_GEN_GEN2, 2, "generation 2"),
    NAMED(CUPTI_PCIE_GEN_GEN3, 3, "generation 3"),
    NAMED(CUPTI_PCIE_GEN_GEN4, 4, "generation 4"),
    NAMED(CUPTI_PCIE_GEN_GEN5, 5, "generation 5"),
    NAMED(CUPTI_PCIE_GEN_GEN6, 6, "generation 6"),
};

inline constexpr EnumValue CUpti_ActivityEnvironmentKind[]{
    NAMED(CUPTI_ACTIVITY_ENVIRONMENT_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_ACTIVITY_ENVIRONMENT_SPEED, 1, "speed"),
    NAMED(CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE, 2, "temperature"),
    NAMED(CUPTI_ACTIVITY_ENVIRONMENT_POWER, 3, "power"),
    NAMED(CUPTI_ACTIVITY_ENVIRONMENT_COOLING, 4, "cooling"),
};

inline constexpr EnumValue CUpti_EnvironmentClocksThrottleReason[]{
    NAMED(CUPTI_CLOCKS_THROTTLE_REASON_GPU_IDLE, 1, "GPU idle"),
    NAMED(CUPTI_CLOCKS_THROTTLE_REASON_USER_DEFINED_CLOCKS, 2, "user-defined clocks"),
    NAMED(CUPTI_CLOCKS_THROTTLE_REASON_SW_POWER_CAP, 4, "software power cap"),
    NAMED(CUPTI_CLOCKS_THROTTLE_REASON_HW_SLOWDOWN, 8, "hardware slowdown"),
    NAMED(CUPTI_CLOCKS_THROTTLE_REASON_UNKNOWN, 0x80000000, "unknown"),
    NAMED(CUPTI_CLOCKS_THROTTLE_REASON_UNSUPPORTED, 0x40000000, "unsupported"),
    NAMED(CUPTI_CLOCKS_THROTTLE_REASON_NONE, 0, "none"),
};

// Compiler directives, spelled like nvprof's.

inline constexpr EnumValue CUpti_OpenAccEventKind[]{
    NAMED(CUPTI_OPENACC_EVENT_KIND_INVALID, 0, "acc_invalid"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_DEVICE_INIT, 1, "acc_device_init"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_DEVICE_SHUTDOWN, 2, "acc_device_shutdown"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_RUNTIME_SHUTDOWN, 3, "acc_runtime_shutdown"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_ENQUEUE_LAUNCH, 4, "acc_enqueue_launch"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_ENQUEUE_UPLOAD, 5, "acc_enqueue_upload"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_ENQUEUE_DOWNLOAD, 6, "acc_enqueue_download"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_WAIT, 7, "acc_wait"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_IMPLICIT_WAIT, 8, "acc_implicit_wait"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_COMPUTE_CONSTRUCT, 9, "acc_compute_construct"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_UPDATE, 10, "acc_update"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_ENTER_DATA, 11, "acc_enter_data"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_EXIT_DATA, 12, "acc_exit_data"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_CREATE, 13, "acc_create"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_DELETE, 14, "acc_delete"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_ALLOC, 15, "acc_alloc"),
    NAMED(CUPTI_OPENACC_EVENT_KIND_FREE, 16, "acc_free"),
};

inline constexpr EnumValue CUpti_OpenAccConstructKind[]{
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_UNKNOWN, 0, "unknown"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_PARALLEL, 1, "parallel"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_KERNELS, 2, "kernels"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_LOOP, 3, "loop"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_DATA, 4, "data"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_ENTER_DATA, 5, "enter data"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_EXIT_DATA, 6, "exit data"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_HOST_DATA, 7, "host data"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_ATOMIC, 8, "atomic"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_DECLARE, 9, "declare"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_INIT, 10, "init"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_SHUTDOWN, 11, "shutdown"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_SET, 12, "set"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_UPDATE, 13, "update"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_ROUTINE, 14, "routine"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_WAIT, 15, "wait"),
    NAMED(CUPTI_OPENACC_CONSTRUCT_KIND_RUNTIME_API, 16, "runtime api"),
};

inline constexpr EnumValue CUpti_OpenMpEventKind[]{
    NAMED(CUPTI_OPENMP_EVENT_KIND_INVALID, 0, "omp_unknown"),
    NAMED(CUPTI_OPENMP_EVENT_KIND_PARALLEL, 1, "omp_parallel"),
    NAMED(CUPTI_OPENMP_EVENT_KIND_TASK, 2, "omp_task"),
    NAMED(CUPTI_OPENMP_EVENT_KIND_THREAD, 3, "omp_thread"),
    NAMED(CUPTI_OPENMP_EVENT_KIND_IDLE, 4, "omp_idle"),
    NAMED(CUPTI_OPENMP_EVENT_KIND_WAIT_BARRIER, 5, "omp_wait_barrier"),
    NAMED(CUPTI_OPENMP_EVENT_KIND_WAIT_TASKWAIT, 6, "omp_wait_taskwait"),
};

// Device attributes.

inline constexpr EnumValue CUdevice_attribute[]{
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1, "max_threads_per_block"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2, "max_block_dim_x"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3, "max_block_dim_y"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4, "max_block_dim_z"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5, "max_grid_dim_x"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6, "max_grid_dim_y"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7, "max_grid_dim_z"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8, "max_shared_memory_per_block"),
    NAMED(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 9, "total_constant_memory"),
    NAMED(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10, "warp_size"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_PITCH, 11, "max_pitch"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12, "max_registers_per_block"),
    NAMED(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13, "clock_rate"),
    NAMED(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 14, "texture_alignment"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 15, "gpu_overlap"),
    NAMED(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 17, "kernel_exec_timeout"),
    NAMED(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18, "integrated"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19, "can_map_host_memory"),
    NAMED(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20, "compute_mode"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 21, "maximum_texture1d_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 22, "maximum_texture2d_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 23, "maximum_texture2d_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 24, "maximum_texture3d_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 25, "maximum_texture3d_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 26, "maximum_texture3d_depth"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 27,
          "maximum_texture2d_layered_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 28,
          "maximum_texture2d_layered_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 29,
          "maximum_texture2d_layered_layers"),
    NAMED(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 30, "surface_alignment"),
    NAMED(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31, "concurrent_kernels"),
    NAMED(CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 32, "ecc_enabled"),
    NAMED(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33, "pci_bus_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34, "pci_device_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 35, "tcc_driver"),
    NAMED(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36, "memory_clock_rate"),
    NAMED(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37, "global_memory_bus_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38, "l2_cache_size"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39, "max_threads_per_multiprocessor"),
    NAMED(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41, "unified_addressing"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 42,
          "maximum_texture1d_layered_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 43,
          "maximum_texture1d_layered_layers"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER, 44, "can_tex2d_gather"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, 45, "maximum_texture2d_gather_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 46,
          "maximum_texture2d_gather_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, 47,
          "maximum_texture3d_width_alternate"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, 48,
          "maximum_texture3d_height_alternate"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, 49,
          "maximum_texture3d_depth_alternate"),
    NAMED(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50, "pci_domain_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 51, "texture_pitch_alignment"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, 52, "maximum_texturecubemap_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 53,
          "maximum_texturecubemap_layered_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 54,
          "maximum_texturecubemap_layered_layers"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, 55, "maximum_surface1d_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, 56, "maximum_surface2d_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, 57, "maximum_surface2d_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, 58, "maximum_surface3d_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, 59, "maximum_surface3d_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, 60, "maximum_surface3d_depth"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, 61,
          "maximum_surface1d_layered_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS, 62,
          "maximum_surface1d_layered_layers"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH, 63,
          "maximum_surface2d_layered_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT, 64,
          "maximum_surface2d_layered_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS, 65,
          "maximum_surface2d_layered_layers"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, 66, "maximum_surfacecubemap_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, 67,
          "maximum_surfacecubemap_layered_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, 68,
          "maximum_surfacecubemap_layered_layers"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 69, "maximum_texture1d_linear_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 70, "maximum_texture2d_linear_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 71,
          "maximum_texture2d_linear_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 72, "maximum_texture2d_linear_pitch"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 73,
          "maximum_texture2d_mipmapped_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 74,
          "maximum_texture2d_mipmapped_height"),
    NAMED(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75, "compute_capability_major"),
    NAMED(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76, "compute_capability_minor"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 77,
          "maximum_texture1d_mipmapped_width"),
    NAMED(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 78, "stream_priorities_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 79, "global_l1_cache_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 80, "local_l1_cache_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81,
          "max_shared_memory_per_multiprocessor"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82,
          "max_registers_per_multiprocessor"),
    NAMED(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83, "managed_memory"),
    NAMED(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 84, "multi_gpu_board"),
    NAMED(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, 85, "multi_gpu_board_group_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 86, "host_native_atomic_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 87,
          "single_to_double_precision_perf_ratio"),
    NAMED(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 88, "pageable_memory_access"),
    NAMED(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89, "concurrent_managed_access"),
    NAMED(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 90, "compute_preemption_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91,
          "can_use_host_pointer_for_registered_mem"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 92, "can_use_stream_mem_ops_v1"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 93,
          "can_use_64_bit_stream_mem_ops_v1"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 94,
          "can_use_stream_wait_value_nor_v1"),
    NAMED(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95, "cooperative_launch"),
    NAMED(CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 96,
          "cooperative_multi_device_launch"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97,
          "max_shared_memory_per_block_optin"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 98, "can_flush_remote_writes"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 99, "host_register_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 100,
          "pageable_memory_access_uses_host_page_tables"),
    NAMED(CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 101,
          "direct_managed_mem_access_from_host"),
    NAMED(CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 102,
          "virtual_address_management_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103,
          "handle_type_posix_file_descriptor_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, 104,
          "handle_type_win32_handle_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, 105,
          "handle_type_win32_kmt_handle_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106, "max_blocks_per_multiprocessor"),
    NAMED(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 107, "generic_compression_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 108, "max_persisting_l2_cache_size"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 109, "max_access_policy_window_size"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 110,
          "gpu_direct_rdma_with_cuda_vmm_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 111,
          "reserved_shared_memory_per_block"),
    NAMED(CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED, 112, "sparse_cuda_array_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 113,
          "read_only_host_register_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 114,
          "timeline_semaphore_interop_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115, "memory_pools_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 116, "gpu_direct_rdma_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 117,
          "gpu_direct_rdma_flush_writes_options"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 118,
          "gpu_direct_rdma_writes_ordering"),
    NAMED(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 119,
          "mempool_supported_handle_types"),
    NAMED(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 120, "cluster_launch"),
    NAMED(CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 121,
          "deferred_mapping_cuda_array_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 122, "can_use_64_bit_stream_mem_ops"),
    NAMED(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 123, "can_use_stream_wait_value_nor"),
    NAMED(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 124, "dma_buf_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 125, "ipc_event_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 127, "tensor_map_access_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 128, "handle_type_fabric_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 129, "unified_function_pointers"),
    NAMED(CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, 130, "numa_config"),
    NAMED(CU_DEVICE_ATTRIBUTE_NUMA_ID, 131, "numa_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 132, "multicast_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 133, "mps_enabled"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 134, "host_numa_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED, 135, "d3d12_cig_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 136, "mem_decompress_algorithm_mask"),
    NAMED(CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH, 137, "mem_decompress_maximum_length"),
    NAMED(CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED, 138, "vulkan_cig_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID, 139, "gpu_pci_device_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID, 140, "gpu_pci_subsystem_id"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 141,
          "host_numa_virtual_memory_management_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 142,
          "host_numa_memory_pools_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED, 143,
          "host_numa_multinode_ipc_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 144, "host_memory_pools_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 145,
          "host_virtual_memory_management_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED, 146, "host_alloc_dma_buf_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED, 147,
          "only_partial_host_native_atomic_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED, 148, "atomic_reduction_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK, 150,
          "max_oversized_shared_memory_per_block"),
    NAMED(CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED, 151, "d3d12_cig_streams_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED, 152, "dma_buf_mmap_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED, 153,
          "logical_endpoint_unicast_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED, 154,
          "logical_endpoint_multicast_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED, 155,
          "logical_endpoint_counted_ops_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED, 156,
          "logical_endpoint_unicast_access_on_owner_device_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES, 158,
          "logical_endpoint_supported_handle_types"),
    NAMED(CU_DEVICE_ATTRIBUTE_VULKAN_CIG_STREAMS_SUPPORTED, 159, "vulkan_cig_streams_supported"),
    NAMED(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE, 160,
          "tensor_map_large_tensor_min_size"),
    NAMED(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED, 161,
          "gpu_direct_rdma_with_localized_memory_supported"),
};

}  // namespace enums

#undef NAMED
#define GPUPROF_ENUM_TYPE(type) EnumType{#type, enums::type}

// CUPTI has one enum for the flags of all kinds, CUpti_ActivityFlag. Two parts of it have names of
// our own: CUpti_ActivityFlag_MARKER and CUpti_ActivityFlag_MARKER_COLOR.
inline constexpr std::array enum_types{
    GPUPROF_ENUM_TYPE(CUpti_ActivityMemcpyKind),
    GPUPROF_ENUM_TYPE(CUpti_ActivityMemoryKind),
    GPUPROF_ENUM_TYPE(CUpti_ActivityMemoryOperationType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityMemoryPoolType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityMemoryPoolOperationType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityUnifiedMemoryCounterKind),
    GPUPROF_ENUM_TYPE(CUpti_ActivityUnifiedMemoryAccessType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityUnifiedMemoryMigrationCause),
    GPUPROF_ENUM_TYPE(CUpti_ActivityUnifiedMemoryRemoteMapCause),
    GPUPROF_ENUM_TYPE(CUpti_ActivityLaunchType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityPartitionedGlobalCacheConfig),
    GPUPROF_ENUM_TYPE(CUpti_FuncShmemLimitConfig),
    GPUPROF_ENUM_TYPE(CUpti_FuncExecutionModel),
    GPUPROF_ENUM_TYPE(CUpti_ChannelType),
    GPUPROF_ENUM_TYPE(CUpti_DeviceGraphLaunchMode),
    GPUPROF_ENUM_TYPE(CUpti_ConfidentialComputeRotationEventType),
    GPUPROF_ENUM_TYPE(CUpti_ComputeEngineCtxSwitchOperationType),
    GPUPROF_ENUM_TYPE(CUsharedconfig),
    GPUPROF_ENUM_TYPE(CUclusterSchedulingPolicy),
    GPUPROF_ENUM_TYPE(CUpti_ActivitySynchronizationType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityOverheadKind),
    GPUPROF_ENUM_TYPE(CUpti_ActivityObjectKind),
    GPUPROF_ENUM_TYPE(CUpti_ExternalCorrelationKind),
    GPUPROF_ENUM_TYPE(CUpti_ActivityPCSamplingStallReason),
    GPUPROF_ENUM_TYPE(CUpti_ActivityJitEntryType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityJitOperationType),
    GPUPROF_ENUM_TYPE(CUpti_ActivityFlag_MARKER),
    GPUPROF_ENUM_TYPE(CUpti_ActivityFlag_MARKER_COLOR),
    GPUPROF_ENUM_TYPE(CUpti_MetricValueKind),
    GPUPROF_ENUM_TYPE(CUpti_ActivityComputeApiKind),
    GPUPROF_ENUM_TYPE(CUpti_ContextCigMode),
    GPUPROF_ENUM_TYPE(CUpti_ActivityStreamFlag),
    GPUPROF_ENUM_TYPE(CUdevWorkqueueConfigScope),
    GPUPROF_ENUM_TYPE(CUpti_DevType),
    GPUPROF_ENUM_TYPE(CUpti_LinkFlag),
    GPUPROF_ENUM_TYPE(CUpti_PcieDeviceType),
    GPUPROF_ENUM_TYPE(CUpti_PcieGen),
    GPUPROF_ENUM_TYPE(CUpti_ActivityEnvironmentKind),
    GPUPROF_ENUM_TYPE(CUpti_EnvironmentClocksThrottleReason),
    GPUPROF_ENUM_TYPE(CUpti_OpenAccEventKind),
    GPUPROF_ENUM_TYPE(CUpti_OpenAccConstructKind),
    GPUPROF_ENUM_TYPE(CUpti_OpenMpEventKind),
    GPUPROF_ENUM_TYPE(CUdevice_attribute),
};

#undef GPUPROF_ENUM_TYPE

// clang-format on

// The number with this name. Does not compile if there is none.
consteval std::int64_t enum_number(std::span<const EnumValue> type, std::string_view name) {
  for (const EnumValue& candidate : type) {
    if (candidate.name == name) return candidate.value;
  }
  throw "no such name";
}

// Of enums by which readers of tables decide.
consteval std::int64_t copy_kind(std::string_view name) {
  return enum_number(enums::CUpti_ActivityMemcpyKind, name);
}
consteval std::int64_t memory_kind(std::string_view name) {
  return enum_number(enums::CUpti_ActivityMemoryKind, name);
}
consteval std::int64_t memory_operation(std::string_view name) {
  return enum_number(enums::CUpti_ActivityMemoryOperationType, name);
}
consteval std::int64_t synchronization(std::string_view name) {
  return enum_number(enums::CUpti_ActivitySynchronizationType, name);
}
consteval std::int64_t unified_memory(std::string_view name) {
  return enum_number(enums::CUpti_ActivityUnifiedMemoryCounterKind, name);
}
consteval std::int64_t environment(std::string_view name) {
  return enum_number(enums::CUpti_ActivityEnvironmentKind, name);
}
consteval std::int64_t marker_flag(std::string_view name) {
  return enum_number(enums::CUpti_ActivityFlag_MARKER, name);
}
consteval std::int64_t object_kind(std::string_view name) {
  return enum_number(enums::CUpti_ActivityObjectKind, name);
}

// Empty if the number has no name.
constexpr std::string_view enum_name(std::string_view type, std::int64_t value) {
  for (const EnumType& entry : enum_types) {
    if (entry.name != type) continue;
    for (const EnumValue& candidate : entry.values) {
      if (candidate.value == value) return candidate.name;
    }
  }
  return {};
}

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
