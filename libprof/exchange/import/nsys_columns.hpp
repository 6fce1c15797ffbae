// Maps the columns of an Nsight Systems export to ours.
#pragma once

#include <string_view>

namespace gpuprof::importing::nsys {

// How a number or text in the file is converted to our value.
enum class How {
  number,
  memory_kind,  // CUPTI's numbering has "unknown" first, Nsight's last
  name,         // a StringIds id
  text,
  uuid,
  kilo,       // ours is in thousands
  signed_32,  // theirs is unsigned: 4294967295 is -1
};

struct Column {
  std::string_view ours, theirs;
  How how = How::number;
};

inline constexpr Column kernel_columns[]{
    {"deviceId", "deviceId"},
    {"contextId", "contextId"},
    {"streamId", "streamId"},
    {"correlationId", "correlationId"},
    {"registersPerThread", "registersPerThread"},
    {"gridX", "gridX"},
    {"gridY", "gridY"},
    {"gridZ", "gridZ"},
    {"blockX", "blockX"},
    {"blockY", "blockY"},
    {"blockZ", "blockZ"},
    {"staticSharedMemory", "staticSharedMemory"},
    {"dynamicSharedMemory", "dynamicSharedMemory"},
    {"localMemoryPerThread", "localMemoryPerThread"},
    {"localMemoryTotal_v2", "localMemoryTotal"},
    {"gridId", "gridId"},
    {"sharedMemoryExecuted", "sharedMemoryExecuted"},
    {"graphNodeId", "graphNodeId"},
    {"graphId", "graphId"},
    {"clusterX", "clusterX"},
    {"clusterY", "clusterY"},
    {"clusterZ", "clusterZ"},
    {"maxPotentialClusterSize", "maxPotentialClusterSize"},
    {"maxActiveClusters", "maxActiveClusters"},
};
inline constexpr Column copy_columns[]{
    {"deviceId", "deviceId"},
    {"contextId", "contextId"},
    {"streamId", "streamId"},
    {"correlationId", "correlationId"},
    {"bytes", "bytes"},
    {"copyKind", "copyKind"},
    {"srcKind", "srcKind", How::memory_kind},
    {"dstKind", "dstKind", How::memory_kind},
    {"graphNodeId", "graphNodeId"},
    {"graphId", "graphId"},
    {"copyCount", "copyCount"},
};
inline constexpr Column set_columns[]{
    {"deviceId", "deviceId"},
    {"contextId", "contextId"},
    {"streamId", "streamId"},
    {"correlationId", "correlationId"},
    {"bytes", "bytes"},
    {"value", "value"},
    {"graphNodeId", "graphNodeId"},
    {"memoryKind", "memKind", How::memory_kind},
};
// Nsight's graphId is the graph as defined.
inline constexpr Column graph_columns[]{
    {"deviceId", "deviceId"},           {"contextId", "contextId"}, {"streamId", "streamId"},
    {"correlationId", "correlationId"}, {"graphId", "graphExecId"},
};
inline constexpr Column wait_columns[]{
    {"contextId", "contextId"}, {"streamId", "streamId"},   {"correlationId", "correlationId"},
    {"type", "syncType"},       {"cudaEventId", "eventId"},
};
inline constexpr Column memory_columns[]{
    {"deviceId", "deviceId"},
    {"contextId", "contextId"},
    {"streamId", "streamId"},
    {"correlationId", "correlationId"},
    {"address", "address"},
    {"bytes", "bytes"},
    {"PC", "pc"},
    {"memoryKind", "memKind", How::memory_kind},
    {"name", "name", How::text},
    {"poolAddress", "localMemoryPoolAddress"},
    {"poolReleaseThreshold", "localMemoryPoolReleaseThreshold"},
    {"poolSize", "localMemoryPoolSize"},
    {"poolUtilizedSize", "localMemoryPoolUtilizedSize"},
};
inline constexpr Column device_columns[]{
    {"name", "name", How::text},
    {"uuid", "uuid", How::uuid},
    {"globalMemorySize", "totalMemory"},
    {"globalMemoryBandwidth", "memoryBandwidth", How::kilo},
    {"coreClockRate", "clockRate", How::kilo},
    {"l2CacheSize", "l2CacheSize"},
    {"numMultiprocessors", "smCount"},
    {"numThreadsPerWarp", "threadsPerWarp"},
    {"numMemcpyEngines", "asyncEngines"},
    {"maxWarpsPerMultiprocessor", "maxWarpsPerSm"},
    {"maxBlocksPerMultiprocessor", "maxBlocksPerSm"},
    {"maxRegistersPerMultiprocessor", "maxRegistersPerSm"},
    {"maxRegistersPerBlock", "maxRegistersPerBlock"},
    {"maxSharedMemoryPerMultiprocessor", "maxShmemPerSm"},
    {"maxSharedMemoryPerBlock", "maxShmemPerBlock"},
    {"maxThreadsPerBlock", "maxThreadsPerBlock"},
    {"computeCapabilityMajor", "computeMajor"},
    {"computeCapabilityMinor", "computeMinor"},
};
inline constexpr Column context_columns[]{
    {"contextId", "contextId"},           {"deviceId", "deviceId"},
    {"nullStreamId", "nullStreamId"},     {"parentContextId", "parentContextId"},
    {"isGreenContext", "isGreenContext"}, {"numMultiprocessors", "numMultiprocessors"},
};
inline constexpr Column stream_columns[]{
    {"contextId", "contextId"}, {"streamId", "streamId"}, {"priority", "priority", How::signed_32}};
inline constexpr Column api_columns[]{{"correlationId", "correlationId"},
                                      {"returnValue", "returnValue"}};

}  // namespace gpuprof::importing::nsys
