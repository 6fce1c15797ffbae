#include "libprof/collect/extra/memory_calls.hpp"

#include <algorithm>
#include <array>

#include "libprof/base/saturating.hpp"

namespace gpuprof::collect {
namespace {

using Facts = MemoryFacts;

// Calls without a CUPTI record come first, and among those, the ones that give memory back come
// last.
struct Calls {
  std::span<const CUpti_CallbackId> all;
  std::size_t take;       // allocate, or make memory usable; no record
  std::size_t give_back;  // no record
};

constexpr std::array<CUpti_CallbackId, 23> of_driver{
    CUPTI_DRIVER_TRACE_CBID_cuMemCreate,
    CUPTI_DRIVER_TRACE_CBID_cuMemMap,
    CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle,
    CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2,
    CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle,
    CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemRelease,
    CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,
    CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle,
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuArrayCreate_v2,
    CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2,
};
constexpr Calls driver_calls{of_driver, 8, 4};

// For cases where the runtime does not call the functions above.
constexpr std::array<CUpti_CallbackId, 13> of_runtime{
    CUPTI_RUNTIME_TRACE_CBID_cudaHostRegister_v4000,
    CUPTI_RUNTIME_TRACE_CBID_cudaIpcOpenMemHandle_v4010,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostUnregister_v4000,
    CUPTI_RUNTIME_TRACE_CBID_cudaIpcCloseMemHandle_v4010,
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocHost_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020,
};
constexpr Calls runtime_calls{of_runtime, 2, 2};

constexpr const Calls& calls_of(CUpti_CallbackDomain domain) {
  return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_calls : driver_calls;
}

std::size_t place_of(const Calls& calls, CUpti_CallbackId id) {
  return static_cast<std::size_t>(std::ranges::find(calls.all, id) - calls.all.begin());
}

// An address, of whatever type the API uses.
std::uint64_t address_of(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
std::uint64_t address_of(CUdeviceptr address) { return address; }

template <class T>
std::uint64_t written_to(T* place, bool succeeded) {
  return succeeded && place ? address_of(*place) : 0;
}

void describe_wanted(const CUmemAllocationProp* wanted, Facts& facts) {
  if (!wanted) return;
  facts.of_host = wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
  if (!facts.of_host) facts.device = static_cast<std::uint32_t>(wanted->location.id);
}

std::uint64_t element_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
  }
}

template <class Descriptor>
std::optional<std::uint64_t> bytes_of(const Descriptor* wanted, std::uint64_t depth) {
  if (!wanted) return {};
  const std::uint64_t element = element_bytes(wanted->Format);
  if (element == 0) return {};  // formats with a different packing
  const auto at_least_one = [](std::uint64_t n) { return std::max<std::uint64_t>(n, 1); };
  return wanted->Width * at_least_one(wanted->Height) * at_least_one(depth) * wanted->NumChannels *
         element;
}

Facts of_driver_call(CUpti_CallbackId id, const void* given, bool succeeded) {
  Facts facts;
  const auto params = [&]<class Params>(const Params*) {
    return static_cast<const Params*>(given);
  };
#define PARAMS(function) params(static_cast<const function##_params*>(nullptr))
#define SIZED(function, place, size)                                \
  case CUPTI_DRIVER_TRACE_CBID_##function:                          \
    facts.address = written_to(PARAMS(function)->place, succeeded); \
    facts.bytes = PARAMS(function)->size;                           \
    break;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: {
      const auto* const call = PARAMS(cuMemCreate);
      facts.handle = written_to(call->handle, succeeded);
      facts.bytes = call->size;
      describe_wanted(call->prop, facts);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
      const auto* const call = PARAMS(cuMemMap);
      facts.address = call->ptr;
      facts.handle = call->handle;
      facts.bytes = call->size;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle:
      facts.handle = written_to(PARAMS(cuMemRetainAllocationHandle)->handle, succeeded);
      facts.address = address_of(PARAMS(cuMemRetainAllocationHandle)->addr);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle:
      facts.handle = written_to(PARAMS(cuMemImportFromShareableHandle)->handle, succeeded);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister:
      facts.address = address_of(PARAMS(cuMemHostRegister)->p);
      facts.bytes = PARAMS(cuMemHostRegister)->bytesize;
      facts.of_host = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      facts.address = address_of(PARAMS(cuMemHostRegister_v2)->p);
      facts.bytes = PARAMS(cuMemHostRegister_v2)->bytesize;
      facts.of_host = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle:
      facts.address = written_to(PARAMS(cuIpcOpenMemHandle)->pdptr, succeeded);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2:
      facts.address = written_to(PARAMS(cuIpcOpenMemHandle_v2)->pdptr, succeeded);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease: facts.handle = PARAMS(cuMemRelease)->handle; break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
      facts.address = PARAMS(cuMemUnmap)->ptr;
      facts.bytes = PARAMS(cuMemUnmap)->size;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
      facts.address = address_of(PARAMS(cuMemHostUnregister)->p);
      facts.of_host = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle:
      facts.address = PARAMS(cuIpcCloseMemHandle)->dptr;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
      facts.address = written_to(PARAMS(cuMemAllocPitch_v2)->dptr, succeeded);
      facts.bytes =
          saturating_multiply(static_cast<std::int64_t>(PARAMS(cuMemAllocPitch_v2)->WidthInBytes),
                              static_cast<std::int64_t>(PARAMS(cuMemAllocPitch_v2)->Height));
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      facts.address = written_to(PARAMS(cuMemAllocHost_v2)->pp, succeeded);
      facts.bytes = PARAMS(cuMemAllocHost_v2)->bytesize;
      facts.of_host = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      facts.address = written_to(PARAMS(cuMemHostAlloc)->pp, succeeded);
      facts.bytes = PARAMS(cuMemHostAlloc)->bytesize;
      facts.of_host = true;
      break;
      SIZED(cuMemAlloc_v2, dptr, bytesize)
      SIZED(cuMemAllocManaged, dptr, bytesize)
      SIZED(cuMemAllocAsync, dptr, bytesize)
      SIZED(cuMemAllocAsync_ptsz, dptr, bytesize)
      SIZED(cuMemAllocFromPoolAsync, dptr, bytesize)
      SIZED(cuMemAllocFromPoolAsync_ptsz, dptr, bytesize)
    case CUPTI_DRIVER_TRACE_CBID_cuArrayCreate_v2:
      facts.bytes = bytes_of(PARAMS(cuArrayCreate_v2)->pAllocateArray, 1);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuArray3DCreate_v2: {
      const auto* const wanted = PARAMS(cuArray3DCreate_v2)->pAllocateArray;
      facts.bytes = bytes_of(wanted, wanted ? wanted->Depth : 0);
      break;
    }
    default: break;
  }
#undef SIZED
  return facts;
}

Facts of_runtime_call(CUpti_CallbackId id, const void* given, bool succeeded) {
  Facts facts;
  const auto params = [&]<class Params>(const Params*) {
    return static_cast<const Params*>(given);
  };
#define SIZED(function, place, host)                                \
  case CUPTI_RUNTIME_TRACE_CBID_##function:                         \
    facts.address = written_to(PARAMS(function)->place, succeeded); \
    facts.bytes = PARAMS(function)->size;                           \
    facts.of_host = host;                                           \
    break;
  switch (id) {
    SIZED(cudaMalloc_v3020, devPtr, false)
    SIZED(cudaMallocHost_v3020, ptr, true)
    SIZED(cudaHostAlloc_v3020, pHost, true)
    SIZED(cudaMallocManaged_v6000, devPtr, false)
    SIZED(cudaMallocAsync_v11020, devPtr, false)
    SIZED(cudaMallocAsync_ptsz_v11020, devPtr, false)
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020:
      facts.address = written_to(PARAMS(cudaMallocFromPoolAsync_v11020)->ptr, succeeded);
      facts.bytes = PARAMS(cudaMallocFromPoolAsync_v11020)->size;
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020:
      facts.address = written_to(PARAMS(cudaMallocFromPoolAsync_ptsz_v11020)->ptr, succeeded);
      facts.bytes = PARAMS(cudaMallocFromPoolAsync_ptsz_v11020)->size;
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020:
      facts.address = written_to(PARAMS(cudaMallocPitch_v3020)->devPtr, succeeded);
      facts.bytes =
          saturating_multiply(static_cast<std::int64_t>(PARAMS(cudaMallocPitch_v3020)->width),
                              static_cast<std::int64_t>(PARAMS(cudaMallocPitch_v3020)->height));
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaHostRegister_v4000:
      facts.address = address_of(PARAMS(cudaHostRegister_v4000)->ptr);
      facts.bytes = PARAMS(cudaHostRegister_v4000)->size;
      facts.of_host = true;
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaHostUnregister_v4000:
      facts.address = address_of(PARAMS(cudaHostUnregister_v4000)->ptr);
      facts.of_host = true;
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaIpcOpenMemHandle_v4010:
      facts.address = written_to(PARAMS(cudaIpcOpenMemHandle_v4010)->devPtr, succeeded);
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaIpcCloseMemHandle_v4010:
      facts.address = address_of(PARAMS(cudaIpcCloseMemHandle_v4010)->devPtr);
      break;
    default: break;
  }
#undef SIZED
#undef PARAMS
  return facts;
}

}  // namespace

std::span<const CUpti_CallbackId> memory_calls(CUpti_CallbackDomain domain) {
  return calls_of(domain).all;
}

bool has_record(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const Calls& calls = calls_of(domain);
  return place_of(calls, id) >= calls.take + calls.give_back;
}

bool gives_back(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const Calls& calls = calls_of(domain);
  const std::size_t place = place_of(calls, id);
  return place >= calls.take && place < calls.take + calls.give_back;
}

MemoryFacts facts_of(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* params,
                     bool succeeded) {
  if (!params) return {};
  return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? of_runtime_call(id, params, succeeded)
                                               : of_driver_call(id, params, succeeded);
}

}  // namespace gpuprof::collect
