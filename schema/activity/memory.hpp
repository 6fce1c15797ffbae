// Memory: allocations, pools, and what the driver moves for managed memory.
#pragma once

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#ifdef GPUPROF_HAVE_CUPTI
namespace extract {
// CUPTI uses one field for a pool's size and an imported pool's process.
inline void pool_size(const CUpti_ActivityMemory4& record, std::uint32_t, std::byte* out) {
  const auto& pool = record.memoryPoolConfig;
  const bool local = number_of(pool.memoryPoolType) == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  put(out, local ? pool.pool.size : null_u64);
}
inline void pool_process(const CUpti_ActivityMemory4& record, std::uint32_t, std::byte* out) {
  const auto& pool = record.memoryPoolConfig;
  const bool imported = number_of(pool.memoryPoolType) == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  put(out, imported ? pool.pool.processId : null_u64);
}
}  // namespace extract
#endif

KIND(UnifiedMemoryCounter, 25, UNIFIED_MEMORY_COUNTER, CUpti_ActivityUnifiedMemoryCounter3,
     unified_memory, enable,
     "Managed memory: pages moved, page faults, thrashing. Not on Arm.",
     COL(u32, counterKind, "what happened: enum CUpti_ActivityUnifiedMemoryCounterKind"),
     COL(u64, value,
         "bytes moved or mapped; fault groups of a GPU page fault; "
         "program counter of a CPU page fault"),
     COL(u64, start, "[ns] start of the transfer or of its handling, on CUPTI's clock"),
     COL(u64, end, "[ns] end of it, on CUPTI's clock; 0 = happened at one moment"),
     COL(u64, address, "first address moved or faulted on"),
     COL(u32, srcId,
         "device it came from or that faulted, 4294967295 = the CPU; "
         "for thrashing a bit mask of devices"),
     COL(u32, dstId, "device it went to; 4294967295 = the CPU"),
     COL(u32, streamId, "not set by CUPTI"),
     COL(u32, processId, "process"),
     COL(u32, flags,
         "why: transfers, enum CUpti_ActivityUnifiedMemoryMigrationCause; GPU page faults, "
         "enum CUpti_ActivityUnifiedMemoryAccessType; remote maps, "
         "enum CUpti_ActivityUnifiedMemoryRemoteMapCause; thrashing, throttling: 1 = on the CPU"),
     since(26, COL_AS(u64, "processors0", processors[0],
                      "thrashing: bit mask of the devices 0 to 63")),
     since(26, COL_AS(u64, "processors1", processors[1],
                      "thrashing: bit mask of the devices 64 to 127")),
     since(26, COL_AS(u64, "processors2", processors[2],
                      "thrashing: bit mask of the devices 128 to 191")),
     since(26, COL_AS(u64, "processors3", processors[3],
                      "thrashing: bit mask of the devices 192 to 255")),
     since(26, COL_AS(u64, "processors4", processors[4],
                      "thrashing: bit mask of the devices 256 to 319")))

KIND(Memory, 45, MEMORY, CUpti_ActivityMemory, memory_lifetime, enable,
     "Allocations, one row each for its whole life. MEMORY2 has a row for each operation.",
     COL(u32, memoryKind, "kind of memory: enum CUpti_ActivityMemoryKind"),
     COL(u64, address, "address"), COL(u64, bytes, "[bytes] how much was allocated"),
     COL(u64, start, "[ns] when it was allocated, on CUPTI's clock"),
     COL(u64, end, "[ns] when it was released, on CUPTI's clock; 0 = never"),
     COL(u64, allocPC, "program counter that allocated it"),
     COL(u64, freePC, "program counter that released it; 0 = never released"),
     COL(u32, processId, "process"), COL(u32, deviceId, "device"),
     COL(u32, contextId, "context; 0 = none"),
     STR(name, "name of a static variable: StringTable id; 0 = none"))

KIND(Memory2, 49, MEMORY2, CUpti_ActivityMemory4, memory, enable,
     "Allocations and releases of memory, one row per operation.",
     COL(u32, memoryOperationType, "allocate or release: enum CUpti_ActivityMemoryOperationType"),
     COL(u32, memoryKind, "kind of memory: enum CUpti_ActivityMemoryKind"),
     CORRELATION(correlationId, "joins the API call that asked for it"),
     COL(u64, address, "address"), COL(u64, bytes, "[bytes] size of the allocation"),
     COL(u64, timestamp, "[ns] when, on CUPTI's clock"),
     COL(u64, PC, "program counter that asked; 0 from CUPTI 13.5"),
     COL(u32, processId, "process"), COL(u32, deviceId, "device"),
     COL(u32, contextId, "context; 0 = none"),
     COL(u32, streamId, "stream of an asynchronous operation; 0 = none"),
     STR(name, "name of a static variable: StringTable id; 0 = none"),
     COL(u32, isAsync, "1 = ordered in a stream (cudaMallocAsync, cudaFreeAsync)"),
     BLOB(40, memoryPoolConfig, "the pool as CUPTI lays it out; read poolXxx instead"),
     COL_AS(u32, "poolType", memoryPoolConfig.memoryPoolType,
            "enum CUpti_ActivityMemoryPoolType; 0 = not from a pool"),
     COL_AS(u64, "poolAddress", memoryPoolConfig.address, "address of the pool"),
     COL_AS(u64, "poolReleaseThreshold", memoryPoolConfig.releaseThreshold,
            "[bytes] how much a local pool keeps before it gives memory back"),
     NULLABLE(u64, "poolSize", extract::pool_size, "[bytes] size of a local pool, else NULL"),
     COL_AS(u64, "poolUtilizedSize", memoryPoolConfig.utilizedSize,
            "[bytes] how much of a local pool is in use"),
     NULLABLE(u64, "poolProcessId", extract::pool_process,
              "process an imported pool belongs to, else NULL"),
     STR(source,
         "program or library that asked: StringTable id; 0 = not collected, which takes --trace "
         "+allocation-source"))

KIND(MemoryPool, 50, MEMORY_POOL, CUpti_ActivityMemoryPool3, memory, enable,
     "Memory pools made, trimmed and destroyed.",
     COL(u32, memoryPoolOperationType, "enum CUpti_ActivityMemoryPoolOperationType"),
     COL(u32, memoryPoolType, "enum CUpti_ActivityMemoryPoolType"),
     CORRELATION(correlationId, "joins the API call that asked for it"),
     COL(u32, processId, "process"), COL(u32, deviceId, "device of the pool"),
     COL(u64, minBytesToKeep, "[bytes] how much a trim had to leave in the pool"),
     COL(u64, address, "address of the pool"),
     COL(u64, size, "[bytes] size of a local pool"),
     COL(u64, releaseThreshold, "[bytes] how much a local pool keeps before it gives memory back"),
     COL(u64, timestamp, "[ns] when, on CUPTI's clock"),
     COL(u64, utilizedSize, "[bytes] how much of a local pool is in use"),
     since(130000, COL(u8, isManagedPool, "1 = of managed memory")))

using MemoryKinds = std::tuple<UnifiedMemoryCounter, Memory, Memory2, MemoryPool>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
