// The stand-in libcupti.so: the functions the collector and salvage call, and what the driver's
// hooks turn into callbacks and records.
//
// Built twice: FAKE_CUPTI_BARE leaves out the functions that gpuprof can do without.
#define CUPTI_DIRECTIVE_SUPPORT 1
#include <Openmp/omp-tools.h>
#include <cupti.h>
#include <dlfcn.h>
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/launch_params.hpp"
#include "tests/fake_cupti/cupti/range_profiler.hpp"
#include "tests/fake_cupti/cupti/records.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"
#include "tests/fake_cupti/hooks.hpp"

namespace {

using namespace fake;

constexpr std::size_t kinds = 64;
constexpr std::size_t cbids = 1024;
constexpr std::size_t domains = CUPTI_CB_DOMAIN_SIZE;

enum Wish : char { not_said, on, off };

struct Cupti {
  std::array<std::atomic<bool>, kinds> enabled{};
  std::array<std::array<std::atomic<bool>, cbids>, domains> callbacks{};
  std::array<std::atomic<Wish>, cbids> runtime_wish{};
  std::array<std::atomic<Wish>, cbids> driver_wish{};
  std::atomic<CUpti_CallbackFunc> callback{nullptr};
  std::atomic<void*> userdata{nullptr};
  std::atomic<bool> subscribed{false};
  std::atomic<bool> system_thread_ids{false};
  std::atomic<std::uint32_t> next_correlation{first_correlation()};
  std::atomic<std::int64_t> grid_id{0};

  std::mutex mutex;  // guards what was there before a kind was enabled
  std::vector<std::uint32_t> devices;
  std::map<std::uint32_t, std::uint32_t> contexts;  // id, device
  std::atomic<bool> driver_up{false};
  std::atomic<bool> was_serial{false};  // KERNEL was enabled

  std::atomic<std::uint32_t> last_marker{0};
  std::atomic<bool> latency_timestamps{false};
  std::atomic<bool> allocation_source{false};
};

// Never destroyed: threads outlive static destructors.
Cupti& cupti() {
  static Cupti* const it = new Cupti;
  return *it;
}

bool wants(std::uint32_t kind) { return cupti().enabled[kind].load(); }

std::uint32_t thread_id() {
  return cupti().system_thread_ids.load() ? static_cast<std::uint32_t>(syscall(SYS_gettid))
                                          : static_cast<std::uint32_t>(pthread_self());
}

// A record of which nothing has been said yet.
template <class Record>
Record blank() {
  Record record;
  std::memset(static_cast<void*>(&record), poison, sizeof record);
  return record;
}

void call_back(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) {
  if (id >= cbids || !cupti().callbacks[domain][id].load()) return;
  if (const auto callback = cupti().callback.load()) {
    const InCallback mark;
    callback(cupti().userdata.load(), domain, id, data);
  }
}

void call_back(ApiCall& call, CUpti_ApiCallbackSite site, std::uint32_t* result) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call.function;
  data.functionReturnValue = result;
  data.symbolName = call.symbol;
  data.context = static_cast<CUcontext>(call.context);
  data.correlationData = &call.correlation_data;
  data.correlationId = call.correlation;
  LaunchParams params;
  if (call.launch) data.functionParams = fill(params, call);
  call_back(call.runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, call.cbid,
            &data);
}

// Which calls have a record: all of an enabled kind, and those asked for one by one. A launch that
// the driver makes for the runtime has one only where the runtime's has none.
bool is_recorded(const ApiCall& call) {
  const Wish wish = (call.runtime ? cupti().runtime_wish : cupti().driver_wish)[call.cbid].load();
  if (wish == off) return false;
  if (call.cbid == CUPTI_DRIVER_TRACE_CBID_cuKernelGetName && !call.runtime && !name_calls()) {
    return false;
  }
  if (call.nested && call.launch) return wish == on && !call.parent_recorded;
  return wish == on ||
         wants(call.runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER);
}

void on_enter(ApiCall& call) {
  if (!call.nested) {
    // 0 is no correlation id.
    do {
      call.correlation = cupti().next_correlation.fetch_add(1);
    } while (call.correlation == 0);
  }
  call.recorded = is_recorded(call);
  call_back(call, CUPTI_API_ENTER, nullptr);
}

// By kind; a record of the last one of each stands before that of a call.
thread_local std::map<std::uint32_t, std::vector<std::uint64_t>> external_ids;

void write_external_ids(std::uint32_t correlation) {
  if (!wants(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  for (const auto& [kind, ids] : external_ids) {
    if (ids.empty()) continue;
    CUpti_ActivityExternalCorrelation record{};
    record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
    record.externalId = ids.back();
    record.correlationId = correlation;
    append(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, &record);
  }
}

void on_exit(ApiCall& call, std::uint32_t result) {
  call_back(call, CUPTI_API_EXIT, &result);
  if (!call.recorded) return;
  write_external_ids(call.correlation);
  auto record = blank<CUpti_ActivityAPI>();
  record.cbid = call.cbid;
  record.start = call.start;
  record.end = timestamp();
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = thread_id();
  record.correlationId = call.correlation;
  record.returnValue = result;
  append(call.runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER, &record);
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
  record.channelID = 11;
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

void on_kernel(const Work& work) {
  if (work.graph_node != 0 && wants(CUPTI_ACTIVITY_KIND_KERNEL)) {  // no such records (measured)
    graph_breaks_profiler(work.context);
    return;
  }
  const bool without_times = profile(work);
  write_kernel(work, without_times);
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

void write_device(std::uint32_t device) {
  CUpti_ActivityDevice6 record{};
  record.id = device;
  record.numMultiprocessors = 132;
  record.computeCapabilityMajor = 9;
  record.name = strdup("Stand-in GPU");  // the client frees it
  record.numTpcs = 66;
  append(CUPTI_ACTIVITY_KIND_DEVICE, &record);
}

void write_context(std::uint32_t id, std::uint32_t device) {
  CUpti_ActivityContext4 record{};
  record.contextId = id;
  record.deviceId = device;
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = 7;
  append(CUPTI_ACTIVITY_KIND_CONTEXT, &record);
}

void write_stream(std::uint32_t context) {
  auto record = blank<CUpti_ActivityStream>();
  record.contextId = context;
  record.streamId = 7;
  record.priority = 0;
  record.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
  record.correlationId = 0;
  append(CUPTI_ACTIVITY_KIND_STREAM, &record);
}

void on_device(std::uint32_t device) {
  {
    const std::lock_guard lock(cupti().mutex);
    cupti().devices.push_back(device);
  }
  cupti().driver_up.store(true);
  if (wants(CUPTI_ACTIVITY_KIND_DEVICE)) write_device(device);
}

void on_context_created(void* context, std::uint32_t id, std::uint32_t device) {
  {
    const std::lock_guard lock(cupti().mutex);
    cupti().contexts[id] = device;
  }
  if (wants(CUPTI_ACTIVITY_KIND_CONTEXT)) write_context(id, device);
  if (wants(CUPTI_ACTIVITY_KIND_STREAM)) write_stream(id);
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(context);
  call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
}

void on_context_destroyed(void* context, std::uint32_t id) {
  {
    const std::lock_guard lock(cupti().mutex);
    cupti().contexts.erase(id);
  }
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(context);
  call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
  range_context_destroyed(id);
}

void on_module_loaded(void* context, std::uint32_t id, const void* cubin, std::size_t size) {
  CUpti_ModuleResourceData module{};
  module.moduleId = id;
  module.cubinSize = size;
  module.pCubin = static_cast<const char*>(cubin);
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(context);
  data.resourceDescriptor = &module;
  call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

void on_state_error() {
  for (auto& kind : cupti().enabled) kind.store(false);
  CUpti_StateData data{};
  data.notification.result = CUPTI_ERROR_UNKNOWN;
  data.notification.message = "the stand-in was told to fail";
  call_back(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
}

constexpr Hooks hooks{&on_enter,
                      &on_exit,
                      &own_kernel_time,
                      &on_kernel,
                      &on_copy,
                      &on_set,
                      &on_memory,
                      &on_synchronized,
                      &on_device,
                      &on_context_created,
                      &on_context_destroyed,
                      &on_module_loaded,
                      &on_state_error};

// Null where no stand-in driver is loaded: in salvage.
SetHooks driver_entry() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<SetHooks>(dlsym(driver, set_hooks_name)) : nullptr;
}

template <class More>
void write_marker(std::uint32_t flag, std::uint32_t id, const char* name, More more) {
  if (wants(CUPTI_ACTIVITY_KIND_MARKER)) {
    auto record = blank<CUpti_ActivityMarker2>();
    record.flags = static_cast<CUpti_ActivityFlag>(flag);
    record.timestamp = timestamp();
    record.id = id;
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    std::memset(&record.objectId, 0, sizeof record.objectId);
    record.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
    record.objectId.pt.threadId = thread_id();
    record.name = name;
    record.domain = nullptr;
    append(CUPTI_ACTIVITY_KIND_MARKER, &record);
  }
  if (name && wants(CUPTI_ACTIVITY_KIND_MARKER_DATA)) {
    auto record = blank<CUpti_ActivityMarkerData2>();
    record.flags = CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB;
    record.id = id;
    record.payloadKind = CUPTI_METRIC_VALUE_KIND_INT64;
    record.payload.metricValueInt64 = 7;
    record.color = 0xff00ff00;
    record.category = 2;
    record.cuptiDomainId = 0;
    more(record);
    append(CUPTI_ACTIVITY_KIND_MARKER_DATA, &record);
  }
}

void write_marker(std::uint32_t flag, std::uint32_t id, const char* name) {
  write_marker(flag, id, name, [](auto&) {});
}

thread_local std::vector<std::uint32_t> open_ranges;

// NVTX names stay where they are until the process ends, as CUPTI keeps them.
const char* kept(const char* text) {
  static std::mutex mutex;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return texts->insert(text).first->c_str();
}

// What the real one does when NVTX came up before anybody subscribed.
void insist_on_subscriber() {
  if (!cupti().subscribed.load()) raise(SIGSEGV);
}

// The message as nvtxRangePushA_params and nvtxMarkA_params have it, whose header needs NVTX's.
void call_back_nvtx(CUpti_CallbackId id, const char* function, const char* message) {
  CUpti_NvtxData data{};
  data.functionName = function;
  data.functionParams = &message;
  call_back(CUPTI_CB_DOMAIN_NVTX, id, &data);
}

void nvtx_push(const char* message) {
  insist_on_subscriber();
  call_back_nvtx(CUPTI_CBID_NVTX_nvtxRangePushA, "nvtxRangePushA", message);
  const std::uint32_t id = ++cupti().last_marker;
  open_ranges.push_back(id);
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, id, kept(message));
}

void nvtx_pop() {
  insist_on_subscriber();
  call_back_nvtx(CUPTI_CBID_NVTX_nvtxRangePop, "nvtxRangePop", nullptr);
  if (open_ranges.empty()) return;
  const std::uint32_t id = open_ranges.back();
  open_ranges.pop_back();
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, id, nullptr);
}

void nvtx_mark(const char* message) {
  insist_on_subscriber();
  call_back_nvtx(CUPTI_CBID_NVTX_nvtxMarkA, "nvtxMarkA", message);
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, ++cupti().last_marker, kept(message));
}

// The layout that fake_nvtx_push_payload() is told to use, and the enum in it.
constexpr std::uint64_t message_layout = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 2;
constexpr std::uint64_t operation_enum = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 1;
constexpr std::uint32_t payload_domain = 3;

void nvtx_push_payload(const char* message, const void* bytes, std::size_t size) {
  insist_on_subscriber();
  const std::uint32_t id = ++cupti().last_marker;
  open_ranges.push_back(id);
  write_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, id, kept(message), [&](auto& record) {
    // Copies, which the client frees.
    auto* payload = static_cast<nvtxPayloadData_t*>(std::malloc(sizeof(nvtxPayloadData_t)));
    void* copy = std::malloc(size);
    std::memcpy(copy, bytes, size);
    *payload = {message_layout, size, copy};
    record.payloadKind = CUPTI_METRIC_VALUE_KIND_NVTX_EXTENDED_PAYLOAD;
    record.payload.metricValueNvtxExtendedPayload = reinterpret_cast<std::uint64_t>(payload);
    record.cuptiDomainId = payload_domain;
  });
}

// The first kind that the version does not know.
std::uint32_t first_unknown_kind() {
  if (version() >= 130100) return CUPTI_ACTIVITY_KIND_COUNT;
  if (version() >= 28) return 56;
  return version() >= 26 ? 55 : 53;
}

// A kind overrides what was said of single functions before.
void forget_wishes(CUpti_ActivityKind kind) {
  if (kind != CUPTI_ACTIVITY_KIND_RUNTIME && kind != CUPTI_ACTIVITY_KIND_DRIVER) return;
  auto& wishes = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? cupti().runtime_wish : cupti().driver_wish;
  for (std::atomic<Wish>& wish : wishes) wish.store(not_said);
}

CUptiResult enable(CUpti_ActivityKind kind) {
  const auto number = static_cast<std::uint32_t>(kind);
  if (number == 0 || number >= first_unknown_kind()) return CUPTI_ERROR_INVALID_KIND;
  switch (number) {
    case CUPTI_ACTIVITY_KIND_CDP_KERNEL:
    case CUPTI_ACTIVITY_KIND_MODULE:
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
    case CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE: return CUPTI_ERROR_NOT_COMPATIBLE;
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      // Measured: these are in its way the second time.
      const bool again = cupti().was_serial.exchange(true) && version() >= 130400;
      if (wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
          (again &&
           (wants(CUPTI_ACTIVITY_KIND_JIT) || wants(CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS)))) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
      }
      break;
    }
    case CUPTI_ACTIVITY_KIND_PCIE:
      if (version() < 130200) pcie_breaks_profiler();
      break;
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      if (wants(CUPTI_ACTIVITY_KIND_KERNEL)) return CUPTI_ERROR_NOT_COMPATIBLE;
      break;
    case CUPTI_ACTIVITY_KIND_ENVIRONMENT:
      if (!cupti().driver_up.load()) return CUPTI_ERROR_NOT_COMPATIBLE;
      break;
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      if (!cupti().driver_up.load()) return CUPTI_ERROR_NOT_READY;
      break;
    default: break;
  }
  forget_wishes(kind);
  cupti().enabled[number].store(true);
  if (number == CUPTI_ACTIVITY_KIND_ENVIRONMENT) {
    CUpti_ActivityEnvironment record{};
    record.timestamp = timestamp();
    record.environmentKind = CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE;
    record.data.temperature.gpuTemperature = 41;
    append(CUPTI_ACTIVITY_KIND_ENVIRONMENT, &record);
  }
  return CUPTI_SUCCESS;
}

// Set before the driver is up, as the documentation asks.
[[maybe_unused]] CUptiResult choose(std::atomic<bool>& choice, std::uint8_t enabled) {
  if (cupti().driver_up.load()) return CUPTI_ERROR_NOT_COMPATIBLE;
  choice.store(enabled != 0);
  return CUPTI_SUCCESS;
}

struct FunctionName {
  std::uint32_t cbid;
  const char* name;
};

#define RUNTIME(name) {CUPTI_RUNTIME_TRACE_CBID_##name, #name},
#define DRIVER(name)
constexpr FunctionName runtime_names[] = {
#include "tests/function_names.inc"
};
#undef RUNTIME
#undef DRIVER
#define RUNTIME(name)
#define DRIVER(name) {CUPTI_DRIVER_TRACE_CBID_##name, #name},
constexpr FunctionName driver_names[] = {
#include "tests/function_names.inc"
};
#undef RUNTIME
#undef DRIVER

CUptiResult find_name(std::span<const FunctionName> names, std::uint32_t id, const char** name) {
  const auto known = std::ranges::find(names, id, &FunctionName::cbid);
  if (known == names.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = known->name;
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* number) {
  FAIL_IF_TOLD();
  *number = version();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
    case CUPTI_SUCCESS: *text = "CUPTI_SUCCESS"; break;
    case CUPTI_ERROR_INVALID_PARAMETER: *text = "CUPTI_ERROR_INVALID_PARAMETER"; break;
    case CUPTI_ERROR_INVALID_DEVICE: *text = "CUPTI_ERROR_INVALID_DEVICE"; break;
    case CUPTI_ERROR_INVALID_KIND: *text = "CUPTI_ERROR_INVALID_KIND"; break;
    case CUPTI_ERROR_NOT_READY: *text = "CUPTI_ERROR_NOT_READY"; break;
    case CUPTI_ERROR_NOT_COMPATIBLE: *text = "CUPTI_ERROR_NOT_COMPATIBLE"; break;
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"; break;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    default: *text = "CUPTI_ERROR_UNKNOWN";
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* userdata) {
  FAIL_IF_TOLD();
  const SetHooks set_hooks = driver_entry();
  if (!set_hooks) return CUPTI_ERROR_NOT_INITIALIZED;
  // One subscriber per process, whichever copy of the library it came through.
  if (!set_hooks(&hooks)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &buffers_forked); });
  cupti().userdata.store(userdata);
  cupti().callback.store(callback);
  cupti().subscribed.store(true);
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&cupti());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  FAIL_IF_TOLD();
  cupti().callback.store(nullptr);
  cupti().subscribed.store(false);
  if (const SetHooks set_hooks = driver_entry()) set_hooks(nullptr);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t enabled, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  FAIL_IF_TOLD(static_cast<long>(domain));
  if (static_cast<std::size_t>(domain) >= domains || id >= cbids) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  cupti().callbacks[domain][id].store(enabled != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  FAIL_IF_TOLD();
  register_buffer_callbacks(requested, completed);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD(static_cast<long>(kind));
  return enable(kind);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD(static_cast<long>(kind));
  if (static_cast<std::size_t>(kind) >= kinds) return CUPTI_ERROR_INVALID_KIND;
  forget_wishes(kind);
  cupti().enabled[kind].store(false);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t flags) {
  FAIL_IF_TOLD();
  flush_all(flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                       CUpti_Activity** record) {
  FAIL_IF_TOLD();
  std::size_t at = 0;
  const auto kind_at = [&](std::size_t offset) {
    return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(buffer + offset))
        .load(std::memory_order_acquire);
  };
  if (*record) {
    at = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer);
    at += record_size(kind_at(at));
  }
  if (at + sizeof(std::uint32_t) > valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  const std::uint32_t kind = kind_at(at);
  const std::size_t size = kind & unfinished ? 0 : record_size(kind);
  if (size == 0) return CUPTI_ERROR_INVALID_KIND;
  if (size > valid - at) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  FAIL_IF_TOLD();
  *dropped = take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* now) {
  FAIL_IF_TOLD();
  *now = timestamp();
  return CUPTI_SUCCESS;
}

// NVTX's entry: an argument that gives NVTX's tables.
CUptiResult cuptiNvtxInitialize2(void* get_export_table) {
  FAIL_IF_TOLD();
  NvtxTable* table = reinterpret_cast<NvtxExport>(get_export_table)(nvtx_table_id);
  if (!table) return CUPTI_ERROR_UNKNOWN;
  *table = {&nvtx_push, &nvtx_pop, &nvtx_mark, &nvtx_push_payload};
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   std::uint64_t id) {
  FAIL_IF_TOLD();
  external_ids[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  std::uint64_t* last) {
  FAIL_IF_TOLD();
  std::vector<std::uint64_t>& ids = external_ids[kind];
  if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

#ifndef FAKE_CUPTI_BARE

CUptiResult cuptiActivityEnableLatencyTimestamps(std::uint8_t enabled) {
  FAIL_IF_TOLD();
  return choose(cupti().latency_timestamps, enabled);
}

CUptiResult cuptiActivityEnableAllocationSource(std::uint8_t enabled) {
  FAIL_IF_TOLD();
  return choose(cupti().allocation_source, enabled);
}

// Copies, which the client frees.
CUptiResult cuptiActivityGetNvtxExtPayloadAttr(std::uint32_t domain, std::uint64_t id,
                                               CUpti_NvtxExtPayloadAttr* found) {
  FAIL_IF_TOLD();
  if (domain != payload_domain) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto copy = [](const auto* from, std::size_t count) {
    void* to = std::malloc(count * sizeof *from);
    std::memcpy(to, from, count * sizeof *from);
    return static_cast<std::remove_cvref_t<decltype(*from)>*>(to);
  };
  if (id == operation_enum) {
    const nvtxPayloadEnum_t values[] = {{"send", 1, 0}, {"receive", 2, 0}};
    nvtxPayloadEnumAttr_t attributes{};
    attributes.name = "Operation";
    attributes.entries = copy(values, std::size(values));
    attributes.numEntries = std::size(values);
    attributes.sizeOfEnum = 4;
    found->type = CUPTI_NVTX_EXT_PAYLOAD_TYPE_ENUM;
    found->attributes = copy(&attributes, 1);
    return CUPTI_SUCCESS;
  }
  if (id != message_layout) return CUPTI_ERROR_INVALID_PARAMETER;
  const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "peer", nullptr, 0, 0, nullptr, nullptr},
      {0, operation_enum, "operation", nullptr, 0, 4, nullptr, nullptr},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", nullptr, 0, 8, nullptr, nullptr},
  };
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.name = "Message";
  attributes.entries = copy(entries, std::size(entries));
  attributes.numEntries = std::size(entries);
  attributes.payloadStaticSize = 16;
  found->type = CUPTI_NVTX_EXT_PAYLOAD_TYPE_SCHEMA;
  found->attributes = copy(&attributes, 1);
  return CUPTI_SUCCESS;
}

// What the stand-in OpenACC runtime registers a callback with: the event and what to call.
CUptiResult cuptiOpenACCInitialize(void* register_callback, void*, void*) {
  constexpr int launch_starts = 16;
  using Register = void (*)(int event, void (*)(const char* kernel));
  reinterpret_cast<Register>(register_callback)(launch_starts, [](const char* kernel) {
    if (!wants(CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH)) return;
    CUpti_ActivityOpenAccLaunch record{};
    record.start = timestamp();
    record.end = timestamp();
    record.kernelName = kept(kernel);
    record.cuProcessId = static_cast<std::uint32_t>(getpid());
    append(CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, &record);
  });
  return CUPTI_SUCCESS;
}

int cuptiOpenMpInitialize_v2(ompt_function_lookup_t lookup, int, ompt_data_t*) {
  constexpr int parallel_begins = 3;
  using Set = int (*)(int event, void (*)());
  reinterpret_cast<Set>(lookup("ompt_set_callback"))(parallel_begins, [] {
    if (!wants(CUPTI_ACTIVITY_KIND_OPENMP)) return;
    CUpti_ActivityOpenMp record{};
    record.eventKind = CUPTI_OPENMP_EVENT_KIND_PARALLEL;
    record.start = timestamp();
    record.end = timestamp();
    record.cuProcessId = static_cast<std::uint32_t>(getpid());
    append(CUPTI_ACTIVITY_KIND_OPENMP, &record);
  });
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  FAIL_IF_TOLD(static_cast<long>(kind));
  const CUptiResult result = enable(kind);
  if (result != CUPTI_SUCCESS) return result;
  std::vector<std::uint32_t> devices;
  std::map<std::uint32_t, std::uint32_t> contexts;
  {
    const std::lock_guard lock(cupti().mutex);
    devices = cupti().devices;
    contexts = cupti().contexts;
  }
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_DEVICE:
      for (const std::uint32_t device : devices) write_device(device);
      break;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      for (const auto& [id, device] : contexts) write_context(id, device);
      break;
    case CUPTI_ACTIVITY_KIND_STREAM:
      for (const auto& [id, device] : contexts) write_stream(id);
      break;
    default: break;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, std::uint8_t enabled) {
  FAIL_IF_TOLD(static_cast<long>(id));
  if (id >= cbids) return CUPTI_ERROR_INVALID_PARAMETER;
  cupti().runtime_wish[id].store(enabled ? on : off);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, std::uint8_t enabled) {
  FAIL_IF_TOLD(static_cast<long>(id));
  if (id >= cbids) return CUPTI_ERROR_INVALID_PARAMETER;
  cupti().driver_wish[id].store(enabled ? on : off);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t*, void*) {
  FAIL_IF_TOLD(static_cast<long>(attribute));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*,
                                                       std::uint32_t) {
  FAIL_IF_TOLD();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  FAIL_IF_TOLD();
  cupti().system_thread_ids.store(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  FAIL_IF_TOLD();
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) return find_name(runtime_names, id, name);
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) return find_name(driver_names, id, name);
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetContextId(CUcontext context, std::uint32_t* id) {
  FAIL_IF_TOLD();
  *id = reinterpret_cast<const Context*>(context)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetLastError() { return CUPTI_SUCCESS; }

#endif

}  // extern "C"
