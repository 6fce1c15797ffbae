// CUDA runtime and driver functions that only query: they neither block, nor launch, nor change
// what a profile shows. Frameworks call them many times per launch, and a record costs the same for
// any call, so their calls have no rows unless --trace +queries requests them.
//
// Functions that are not listed are traced. `asks_and_is_traced` is for readers and for the test
// that checks all of CUPTI's names: a function that sounds like a query is in one list or the
// other.
//
// Names are CUPTI's without the suffixes for versions and default streams (see function_of). Driver
// functions that a listed runtime function may call are listed with it: otherwise they could have a
// row where the calling function has none.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace gpuprof::schema {

// Functions with the same reason.
struct CallClass {
  std::string_view what;  // what they query
  std::string_view reason;
  std::span<const std::string_view> functions;
};

namespace query_calls {

inline constexpr std::string_view errors[] = {
    "cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorName", "cudaGetErrorString",
    "cuGetErrorName",   "cuGetErrorString",    "cudaLogsCurrent",  "cuLogsCurrent",
};

inline constexpr std::string_view entry_points[] = {
    "cudaDriverGetVersion",
    "cudaRuntimeGetVersion",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "__cudaGetProcAddress",
    "cudaGetDriverEntryPoint",
    "cudaGetDriverEntryPointByVersion",
    "cudaGetExportTable",
    "cuGetExportTable",
    "cuModuleGetLoadingMode",
};

inline constexpr std::string_view current[] = {
    "cudaGetDevice",
    "cudaGetDeviceFlags",
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxGetApiVersion",
    "cuCtxGetFlags",
    "cuCtxGetId",
    "cuCtxGetLimit",
    "cuCtxGetCacheConfig",
    "cuCtxGetSharedMemConfig",
    "cuCtxGetStreamPriorityRange",
    "cuCtxGetExecAffinity",
    "cuCtxGetDevResource",
    "cuDevicePrimaryCtxGetState",
    "cuGreenCtxGetId",
    "cuGreenCtxGetDevResource",
    "cudaExecutionCtxGetDevice",
    "cudaExecutionCtxGetId",
    "cudaExecutionCtxGetDevResource",
    "cuCoredumpGetAttribute",
    "cuCoredumpGetAttributeGlobal",
};

inline constexpr std::string_view devices[] = {
    "cudaDeviceGetAttribute",
    "cuDeviceGetAttribute",
    "cuDeviceGet",
    "cudaGetDeviceCount",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetUuid",
    "cuDeviceGetLuid",
    "cuDeviceTotalMem",
    "cuDeviceComputeCapability",
    "cuDeviceGetProperties",
    "cudaDeviceGetPCIBusId",
    "cuDeviceGetPCIBusId",
    "cudaDeviceGetByPCIBusId",
    "cuDeviceGetByPCIBusId",
    "cudaDeviceCanAccessPeer",
    "cuDeviceCanAccessPeer",
    "cudaDeviceGetP2PAttribute",
    "cuDeviceGetP2PAttribute",
    "cudaDeviceGetP2PAtomicCapabilities",
    "cuDeviceGetP2PAtomicCapabilities",
    "cudaDeviceGetHostAtomicCapabilities",
    "cuDeviceGetHostAtomicCapabilities",
    "cudaDeviceGetTexture1DLinearMaxWidth",
    "cuDeviceGetTexture1DLinearMaxWidth",
    "cuDeviceGetExecAffinitySupport",
    "cudaDeviceGetDevResource",
    "cuDeviceGetDevResource",
};

inline constexpr std::string_view streams[] = {
    "cudaStreamIsCapturing",  "cuStreamIsCapturing",  "cudaStreamGetCaptureInfo",
    "cuStreamGetCaptureInfo", "cudaStreamGetFlags",   "cuStreamGetFlags",
    "cudaStreamGetId",        "cuStreamGetId",        "cudaStreamGetPriority",
    "cuStreamGetPriority",    "cudaStreamGetDevice",  "cuStreamGetDevice",
    "cudaStreamGetAttribute", "cuStreamGetAttribute", "cudaStreamGetDevResource",
    "cuStreamGetDevResource", "cuStreamGetCtx",       "cuStreamGetGreenCtx",
};

inline constexpr std::string_view elapsed[] = {
    "cudaEventElapsedTime",
    "cuEventElapsedTime",
};

inline constexpr std::string_view memory[] = {
    "cudaPointerGetAttributes",
    "cuPointerGetAttribute",
    "cuPointerGetAttributes",
    "cuMemGetAddressRange",
    "cudaHostGetFlags",
    "cuMemHostGetFlags",
    "cudaHostGetDevicePointer",
    "cuMemHostGetDevicePointer",
    "cuMemGetAccess",
    "cuMemGetAllocationGranularity",
    "cuMemGetAllocationPropertiesFromHandle",
    "cuMulticastGetGranularity",
    "cudaMemPoolGetAttribute",
    "cuMemPoolGetAttribute",
    "cudaMemPoolGetAccess",
    "cuMemPoolGetAccess",
    "cudaDeviceGetGraphMemAttribute",
    "cuDeviceGetGraphMemAttribute",
};

inline constexpr std::string_view occupancy[] = {
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cudaOccupancyAvailableDynamicSMemPerBlock",
    "cuOccupancyAvailableDynamicSMemPerBlock",
    "cudaOccupancyMaxActiveClusters",
    "cuOccupancyMaxActiveClusters",
    "cudaOccupancyMaxPotentialClusterSize",
    "cuOccupancyMaxPotentialClusterSize",
    "cuOccupancyMaxPotentialBlockSize",
    "cuOccupancyMaxPotentialBlockSizeWithFlags",
};

inline constexpr std::string_view functions[] = {
    "cudaFuncGetName",
    "cuFuncGetName",
    "cuKernelGetName",
    "cuFuncGetModule",
    "cuFuncIsLoaded",
    "cuKernelGetLibrary",
    "cudaFuncGetParamCount",
    "cuFuncGetParamCount",
    "cuKernelGetParamCount",
    "cudaFuncGetParamInfo",
    "cuFuncGetParamInfo",
    "cuKernelGetParamInfo",
    "cuModuleGetFunctionCount",
    "cuModuleEnumerateFunctions",
    "cudaLibraryGetKernelCount",
    "cuLibraryGetKernelCount",
    "cudaLibraryEnumerateKernels",
    "cuLibraryEnumerateKernels",
};

inline constexpr std::string_view graphs[] = {
    "cudaGraphGetNodes",
    "cuGraphGetNodes",
    "cudaGraphGetRootNodes",
    "cuGraphGetRootNodes",
    "cudaGraphGetEdges",
    "cuGraphGetEdges",
    "cudaGraphGetId",
    "cuGraphGetId",
    "cudaGraphExecGetId",
    "cuGraphExecGetId",
    "cudaGraphExecGetFlags",
    "cuGraphExecGetFlags",
    "cudaGraphNodeGetType",
    "cuGraphNodeGetType",
    "cudaGraphNodeGetParams",
    "cuGraphNodeGetParams",
    "cudaGraphNodeGetEnabled",
    "cuGraphNodeGetEnabled",
    "cudaGraphNodeGetLocalId",
    "cuGraphNodeGetLocalId",
    "cudaGraphNodeGetToolsId",
    "cuGraphNodeGetToolsId",
    "cudaGraphNodeGetContainingGraph",
    "cuGraphNodeGetContainingGraph",
    "cudaGraphNodeGetDependencies",
    "cuGraphNodeGetDependencies",
    "cudaGraphNodeGetDependentNodes",
    "cuGraphNodeGetDependentNodes",
    "cudaGraphNodeFindInClone",
    "cuGraphNodeFindInClone",
    "cudaGraphKernelNodeGetAttribute",
    "cuGraphKernelNodeGetAttribute",
    "cudaGraphKernelNodeGetParams",
    "cuGraphKernelNodeGetParams",
    "cudaGraphMemcpyNodeGetParams",
    "cuGraphMemcpyNodeGetParams",
    "cudaGraphMemsetNodeGetParams",
    "cuGraphMemsetNodeGetParams",
    "cudaGraphMemAllocNodeGetParams",
    "cuGraphMemAllocNodeGetParams",
    "cudaGraphMemFreeNodeGetParams",
    "cuGraphMemFreeNodeGetParams",
    "cudaGraphHostNodeGetParams",
    "cuGraphHostNodeGetParams",
    "cuGraphBatchMemOpNodeGetParams",
    "cudaGraphChildGraphNodeGetGraph",
    "cuGraphChildGraphNodeGetGraph",
    "cudaGraphEventRecordNodeGetEvent",
    "cuGraphEventRecordNodeGetEvent",
    "cudaGraphEventWaitNodeGetEvent",
    "cuGraphEventWaitNodeGetEvent",
    "cudaGraphExternalSemaphoresSignalNodeGetParams",
    "cuGraphExternalSemaphoresSignalNodeGetParams",
    "cudaGraphExternalSemaphoresWaitNodeGetParams",
    "cuGraphExternalSemaphoresWaitNodeGetParams",
};

inline constexpr std::string_view textures[] = {
    "cudaGetChannelDesc",
    "cudaArrayGetInfo",
    "cuArrayGetDescriptor",
    "cuArray3DGetDescriptor",
    "cudaArrayGetMemoryRequirements",
    "cuArrayGetMemoryRequirements",
    "cudaArrayGetSparseProperties",
    "cuArrayGetSparseProperties",
    "cudaMipmappedArrayGetMemoryRequirements",
    "cuMipmappedArrayGetMemoryRequirements",
    "cudaMipmappedArrayGetSparseProperties",
    "cuMipmappedArrayGetSparseProperties",
    "cudaGetTextureObjectResourceDesc",
    "cuTexObjectGetResourceDesc",
    "cudaGetTextureObjectResourceViewDesc",
    "cuTexObjectGetResourceViewDesc",
    "cudaGetTextureObjectTextureDesc",
    "cuTexObjectGetTextureDesc",
    "cudaGetSurfaceObjectResourceDesc",
    "cuSurfObjectGetResourceDesc",
    "cudaGetTextureAlignmentOffset",
    "cuTexRefGetAddress",
    "cuTexRefGetAddressMode",
    "cuTexRefGetArray",
    "cuTexRefGetBorderColor",
    "cuTexRefGetFilterMode",
    "cuTexRefGetFlags",
    "cuTexRefGetFormat",
    "cuTexRefGetMaxAnisotropy",
    "cuTexRefGetMipmapFilterMode",
    "cuTexRefGetMipmapLevelBias",
    "cuTexRefGetMipmapLevelClamp",
    "cuTexRefGetMipmappedArray",
    "cuSurfRefGetArray",
};

}  // namespace query_calls

inline constexpr CallClass queries[] = {
    {"errors and what they are called",
     "They read memory of the thread; PyTorch does it after every launch. That cudaGetLastError "
     "clears the error shows in no other record.",
     query_calls::errors},
    {"versions and entry points",
     "They read a table. A library looks up hundreds of functions when it is loaded.",
     query_calls::entry_points},
    {"the current device and context, and what is set there",
     "They read what the host keeps; cudaGetDevice is PyTorch's most frequent call. The "
     "functions of the driver need a context and make none.",
     query_calls::current},
    {"devices",
     "They read what the driver learned at its start; the runtime asks 111 times when it starts. "
     "Some attributes, clock rates among them, are asked of the device and take half a "
     "millisecond; a row would not say which it was.",
     query_calls::devices},
    {"streams and whether they are captured",
     "They read what the host keeps of a stream, and do not ask whether its work is done.",
     query_calls::streams},
    {"the time between two events",
     "They subtract two times that the device has written, and fail where one is missing.",
     query_calls::elapsed},
    {"where memory is, whose it is, and counters of pools",
     "They look up an address or a handle in what the host keeps.", query_calls::memory},
    {"how many blocks of a kernel fit",
     "They compute it from the kernel's attributes; in PyTorch they are as many as the launches. "
     "The first one for a kernel may load it: that time has a row in "
     "CUPTI_ACTIVITY_KIND_OVERHEAD.",
     query_calls::occupancy},
    {"names and parameters of functions", "They read what is known of loaded code, and load none.",
     query_calls::functions},
    {"what a graph consists of", "They read the description of the graph, which the host keeps.",
     query_calls::graphs},
    {"arrays, textures and surfaces", "They give back what the object was made with.",
     query_calls::textures},
};

namespace query_calls {

inline constexpr std::string_view progress[] = {
    "cudaEventQuery",
    "cuEventQuery",
    "cudaStreamQuery",
    "cuStreamQuery",
};

inline constexpr std::string_view slow_or_makes[] = {
    "cudaChooseDevice",
    "cudaGetDeviceProperties",
    "cudaDeviceGetLimit",
    "cudaDeviceGetCacheConfig",
    "cudaDeviceGetSharedMemConfig",
    "cudaDeviceGetStreamPriorityRange",
    "cudaThreadGetLimit",
    "cudaThreadGetCacheConfig",
    "cudaDeviceGetExecutionCtx",
    "cudaDeviceGetDefaultMemPool",
    "cuDeviceGetDefaultMemPool",
    "cudaDeviceGetMemPool",
    "cuDeviceGetMemPool",
    "cudaMemGetDefaultMemPool",
    "cuMemGetDefaultMemPool",
    "cudaMemGetMemPool",
    "cuMemGetMemPool",
};

inline constexpr std::string_view from_outside[] = {
    "cudaMemGetInfo",
    "cuMemGetInfo",
    "cudaMemRangeGetAttribute",
    "cuMemRangeGetAttribute",
    "cudaMemRangeGetAttributes",
    "cuMemRangeGetAttributes",
    "cudaMemGetLocationInfo",
    "cuMemGetLocationInfo",
    "cudaDeviceGetNvSciSyncAttributes",
    "cuDeviceGetNvSciSyncAttributes",
    "cuDeviceGetCliqueCount",
    "cuDeviceGetCliqueInfo",
    "cuDeviceGetFabricClusterUuid",
    "cuLogicalEndpointGetLimits",
    "cuLogicalEndpointQuery",
    "cuCheckpointProcessGetState",
    "cuCheckpointProcessGetRestoreThreadId",
};

inline constexpr std::string_view loads_code[] = {
    "cudaFuncGetAttributes",
    "cuFuncGetAttribute",
    "cuKernelGetAttribute",
    "cuKernelGetFunction",
    "cudaGetKernel",
    "__cudaGetKernel",
    "cudaGetFuncBySymbol",
    "cuModuleGetFunction",
    "cuModuleGetGlobal",
    "cuModuleGetTexRef",
    "cuModuleGetSurfRef",
    "cuLibraryGetModule",
    "cudaLibraryGetKernel",
    "cuLibraryGetKernel",
    "cudaLibraryGetGlobal",
    "cuLibraryGetGlobal",
    "cudaLibraryGetManaged",
    "cuLibraryGetManaged",
    "cudaLibraryGetUnifiedFunction",
    "cuLibraryGetUnifiedFunction",
    "cudaGetSymbolAddress",
    "cudaGetSymbolSize",
    "cudaGetTextureReference",
    "cudaGetSurfaceReference",
};

inline constexpr std::string_view hands_out[] = {
    "cudaArrayGetPlane",
    "cuArrayGetPlane",
    "cudaGetMipmappedArrayLevel",
    "cuMipmappedArrayGetLevel",
    "cudaExternalMemoryGetMappedBuffer",
    "cuExternalMemoryGetMappedBuffer",
    "cudaExternalMemoryGetMappedMipmappedArray",
    "cuExternalMemoryGetMappedMipmappedArray",
    "cudaGraphicsResourceGetMappedEglFrame",
    "cuGraphicsResourceGetMappedEglFrame",
    "cudaGraphicsResourceGetMappedMipmappedArray",
    "cuGraphicsResourceGetMappedMipmappedArray",
    "cudaGraphicsResourceGetMappedPointer",
    "cuGraphicsResourceGetMappedPointer",
    "cudaGraphicsSubResourceGetMappedArray",
    "cuGraphicsSubResourceGetMappedArray",
    "cudaIpcGetEventHandle",
    "cuIpcGetEventHandle",
    "cudaIpcGetMemHandle",
    "cuIpcGetMemHandle",
    "cuMemGetHandleForAddressRange",
    "cudaPeerGetDevicePointer",
};

}  // namespace query_calls

inline constexpr CallClass asks_and_is_traced[] = {
    {"whether the GPU is done",
     "A program that asks until the answer is yes is waiting, and nothing else shows that.",
     query_calls::progress},
    {"what may have to be made for the answer, or takes long",
     "Where there is no context or pool yet, most of these make it: the first of them took 113 "
     "ms in PyTorch. cudaGetDeviceProperties takes milliseconds with older runtimes.",
     query_calls::slow_or_makes},
    {"what the operating system, other processes or other machines know",
     "They leave the process, may wait there, and are slow enough to matter.",
     query_calls::from_outside},
    {"code, by a name or a handle",
     "They load it where it is not there yet, which takes milliseconds and is what some programs "
     "call them for.",
     query_calls::loads_code},
    {"handles, addresses and mappings", "They are made by asking.", query_calls::hands_out},
};

// CUPTI's name of a function without the suffixes _v and digits, _ptsz and _ptds:
// cudaStreamIsCapturing for cudaStreamIsCapturing_ptsz_v10000.
constexpr std::string_view function_of(std::string_view name) {
  while (true) {
    if (name.ends_with("_ptsz") || name.ends_with("_ptds")) {
      name.remove_suffix(5);
      continue;
    }
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;  // 0: only digits
    if (digits == name.size() || !name.substr(0, digits).ends_with("_v")) return name;
    name.remove_suffix(name.size() - digits + 2);
  }
}

// The functions of `queries`, sorted by name.
inline constexpr auto query_functions = [] {
  constexpr std::size_t count = [] {
    std::size_t sum = 0;
    for (const CallClass& type : queries) sum += type.functions.size();
    return sum;
  }();
  std::array<std::string_view, count> names{};
  auto* to = names.data();
  for (const CallClass& type : queries) {
    for (const std::string_view function : type.functions) *to++ = function;
  }
  std::ranges::sort(names);
  return names;
}();
static_assert(std::ranges::adjacent_find(query_functions) == query_functions.end(),
              "a function is listed twice");

// `name` is CUPTI's full name.
constexpr bool only_asks(std::string_view name) {
  return std::ranges::binary_search(query_functions, function_of(name));
}

}  // namespace gpuprof::schema
