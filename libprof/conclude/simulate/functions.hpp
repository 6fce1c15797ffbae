// CUDA's functions by what they do, as SQL conditions on a row `n` of API_NAME.
#pragma once

// Those that are ordered in a stream do not count.
#define GPUPROF_ALLOCATES                                                                     \
  "(n.name NOT GLOB '*Async*' AND (n.name GLOB 'cudaMalloc*' OR n.name GLOB 'cudaFree*' OR\n" \
  "         n.name GLOB 'cudaHostAlloc*' OR n.name GLOB 'cudaHostRegister*' OR\n"             \
  "         n.name GLOB 'cudaHostUnregister*' OR n.name GLOB 'cuMemAlloc*' OR\n"              \
  "         n.name GLOB 'cuMemFree*' OR n.name GLOB 'cuMemHostAlloc*' OR\n"                   \
  "         n.name GLOB 'cuMemHostRegister*' OR n.name GLOB 'cuMemHostUnregister*' OR\n"      \
  "         n.name GLOB 'cuMemCreate*' OR n.name GLOB 'cuMemMap*' OR n.name GLOB 'cuMemUnmap*'))"

// Those of pools, which take long if the pool has to grow or is trimmed.
#define GPUPROF_USES_POOLS                                                         \
  "(n.name GLOB 'cudaMalloc*Async*' OR n.name GLOB 'cudaFreeAsync*' OR\n"          \
  "         n.name GLOB 'cuMemAlloc*Async*' OR n.name GLOB 'cuMemFreeAsync*' OR\n" \
  "         n.name GLOB 'cu*MemPoolTrimTo*')"

// At these, a pool gives memory back that is not in use, if it is more than its release threshold.
#define GPUPROF_TRIMS_POOLS                                                  \
  "(n.name GLOB 'cuda*Synchronize*' OR n.name GLOB 'cu*Synchronize*') AND\n" \
  "        EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_MEMORY2 AS m\n"         \
  "                WHERE m.memoryOperationType = 2 AND m.poolType = 1\n"     \
  "                  AND m.poolReleaseThreshold < m.poolSize)"

// Also what unloads it again.
#define GPUPROF_LOADS_CODE                                                                         \
  "(n.name GLOB 'cuModule*Load*' OR n.name GLOB 'cuModuleGetFunction*' OR\n"                       \
  "         n.name GLOB 'cuModuleUnload*' OR n.name GLOB 'cuLibraryUnload*' OR\n"                  \
  "         n.name GLOB 'cuLibrary*Load*' OR n.name GLOB 'cuLibraryGet*' OR\n"                     \
  "         n.name GLOB 'cuLink*' OR n.name GLOB 'cuKernelGet*' OR n.name GLOB 'cuFuncLoad*' OR\n" \
  "         n.name GLOB 'cuFuncGetAttribute*' OR n.name GLOB 'cudaFuncGetAttributes*' OR\n"        \
  "         n.name GLOB 'cudaLibrary*Load*' OR n.name GLOB 'cudaLibraryGet*' OR\n"                 \
  "         n.name GLOB 'cudaGetKernel*' OR n.name GLOB 'cudaGetFuncBySymbol*')"
