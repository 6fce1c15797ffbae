#include "tests/fake_cupti/cupti/work_records.hpp"

#include <cupti.h>
#include <unistd.h>

#include <cstddef>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/pc_sampling.hpp"
#include "tests/fake_cupti/cupti/range_profiler.hpp"
#include "tests/fake_cupti/cupti/records.hpp"
#include "tests/fake_cupti/cupti/sass_metrics.hpp"
#include "tests/fake_cupti/cupti/state.hpp"

namespace fake {
namespace {

// As when all buffers for times are full.
bool device_is_full() {
  static const long room = setting("FAKE_CUPTI_TIMES", 0);
  return room > 0 && ++cupti().kernels > room && cupti().device_buffers.load() <= 250;
}

void write_kernel(const Work& work, bool without_times) {
  const std::uint32_t kind = wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                                 ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                 : CUPTI_ACTIVITY_KIND_KERNEL;
  if (!wants(kind)) return;
  auto record = blank<CUpti_ActivityKernel13>();
  record.cacheConfig.both = 0;
  record.sharedMemoryConfig = 1;
  record.registersPerThread = 32;
  record.partitionedGlobalCacheRequested = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_UNKNOWN;
  record.partitionedGlobalCacheExecuted = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_UNKNOWN;
  record.completed = 0;
  record.deviceId = work.device;
  record.contextId = work.context;
  record.streamId = work.stream;
  record.gridX = static_cast<std::int32_t>(work.launch.grid[0]);
  record.gridY = static_cast<std::int32_t>(work.launch.grid[1]);
  record.gridZ = static_cast<std::int32_t>(work.launch.grid[2]);
  record.blockX = static_cast<std::int32_t>(work.launch.block[0]);
  record.blockY = static_cast<std::int32_t>(work.launch.block[1]);
  record.blockZ = static_cast<std::int32_t>(work.launch.block[2]);
  record.staticSharedMemory = 128;
  record.dynamicSharedMemory = 0;
  record.localMemoryPerThread = 0;
  record.localMemoryTotal = 0;
  record.correlationId = work.correlation;
  record.gridId = ++cupti().grid_id;
  record.name = work.name;
  record.queued = record.submitted = 0;
  if (cupti().latency_timestamps.load()) {
    record.queued = work.start - 20;
    record.submitted = work.start - 10;
  }
  record.launchType = 0;
  record.isSharedMemoryCarveoutRequested = 0;
  record.sharedMemoryCarveoutRequested = 0;
  record.sharedMemoryExecuted = 8192;
  record.graphNodeId = work.graph_node;
  record.shmemLimitConfig = CUPTI_FUNC_SHMEM_LIMIT_DEFAULT;
  record.graphId = work.graph;
  // The hardware does not say this.
  const bool by_hardware = cupti().hardware_tracing.load();
  record.channelID = by_hardware ? 0 : 11;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  record.clusterX = record.clusterY = record.clusterZ = 0;
  record.clusterSchedulingPolicy = 0;
  record.localMemoryTotal_v2 = 0;
  record.maxPotentialClusterSize = 0;
  record.maxActiveClusters = 0;
  if (version() >= 130000) record.isDeviceLaunched = 0;
  record.priority = -3;
  record.executionModel = 0;
  record.sourceGraphId = 0;
  record.sourceGraphNodeId = 0;
  if (without_times) {
    record.start = record.end = 0;
    append(kind, &record);
    return;
  }
  append_unfinished(kind, &record, offsetof(CUpti_ActivityKernel13, start), work.start, work.end);
}

}  // namespace

void on_kernel(const Work& work) {
  sample(work);
  count_instructions(work);
  if (work.graph_node != 0 && wants(CUPTI_ACTIVITY_KIND_KERNEL)) {  // no such records (measured)
    graph_breaks_profiler(work.context);
    return;
  }
  const bool without_times = profile(work) || device_is_full();
  write_kernel(work, without_times);
  end_hardware_tracing(cupti().grid_id.load());
  if (work.own_kernel > 0) {  // ran before, and has its record behind (measured)
    Work own = work;
    own.name = own_kernel_name;
    own.launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .stream = work.launch.stream};
    own.start = work.start - work.own_kernel;
    own.end = work.start;
    write_kernel(own, false);
  }
}

void on_copy(const Work& work) {
  if (!wants(CUPTI_ACTIVITY_KIND_MEMCPY)) return;
  auto record = blank<CUpti_ActivityMemcpy7>();
  record.copyKind = static_cast<std::uint8_t>(work.copy_kind);
  record.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  record.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.flags = 0;
  record.bytes = work.bytes;
  record.deviceId = work.device;
  record.contextId = work.context;
  record.streamId = work.stream;
  record.correlationId = work.correlation;
  record.runtimeCorrelationId = 0;
  record.graphNodeId = 0;
  record.graphId = 0;
  record.channelID = 12;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  if (version() >= 130000) record.isDeviceLaunched = 0;
  record.copyCount = 1;
  record.sourceGraphId = 0;
  record.sourceGraphNodeId = 0;
  append_unfinished(CUPTI_ACTIVITY_KIND_MEMCPY, &record, offsetof(CUpti_ActivityMemcpy7, start),
                    work.start, work.end);
}

void on_set(const Work& work) {
  if (!wants(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  auto record = blank<CUpti_ActivityMemset5>();
  record.value = 0;
  record.bytes = work.bytes;
  record.deviceId = work.device;
  record.contextId = work.context;
  record.streamId = work.stream;
  record.correlationId = work.correlation;
  record.flags = 0;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.graphNodeId = 0;
  record.graphId = 0;
  record.channelID = 11;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  if (version() >= 130000) record.isDeviceLaunched = 0;
  record.sourceGraphId = 0;
  record.sourceGraphNodeId = 0;
  append_unfinished(CUPTI_ACTIVITY_KIND_MEMSET, &record, offsetof(CUpti_ActivityMemset5, start),
                    work.start, work.end);
}

void on_memory(bool release, std::uint64_t address, std::uint64_t bytes, std::uint32_t correlation,
               std::uint32_t context) {
  if (!wants(CUPTI_ACTIVITY_KIND_MEMORY2)) return;
  CUpti_ActivityMemory4 record{};
  record.memoryOperationType = release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                       : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.correlationId = correlation;
  record.address = address;
  record.bytes = bytes;
  record.timestamp = timestamp();
  record.processId = static_cast<std::uint32_t>(getpid());
  record.contextId = context;
  if (cupti().allocation_source.load()) record.source = "libstandin.so";
  append(CUPTI_ACTIVITY_KIND_MEMORY2, &record);
}

void on_synchronized(std::uint32_t correlation, std::uint32_t context, std::uint64_t start,
                     std::uint64_t end) {
  if (!wants(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  auto record = blank<CUpti_ActivitySynchronization2>();
  record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  record.start = start;
  record.end = end;
  record.correlationId = correlation;
  record.contextId = context;
  record.streamId = 0xffffffff;
  record.cudaEventId = 0xffffffff;
  record.cudaEventSyncId = 0;
  record.returnValue = 0;
  append(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, &record);
}

}  // namespace fake
