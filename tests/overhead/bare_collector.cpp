// The least a CUPTI activity collector can do: the kinds gpuprof collects by default, 1 MiB buffers
// from a pool, thrown away as they come back. What scripts/bench_overhead and scripts/bench_torch
// hold gpuprof against.
//
// Loaded through CUDA_INJECTION64_PATH. BARE_CUPTI names the libcupti. BARE_LEAVE_OUT=queries
// leaves out the calls that gpuprof leaves out by default; BARE_GROUP=gpu has no other kinds than
// those of that group, and what is always on. BARE_RECORDS=full has only kernels, copies and sets,
// and BARE_RECORDS=user these with CUPTI's user-defined records of the fields below; both print at
// the end how many bytes there were. BARE_NODES=events has CUPTI also announce the nodes of CUDA
// graphs, made or cloned, and BARE_NODES=numbers asks for their numbers.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "libprof/cupti/api.hpp"
#include "schema/activity/all.hpp"
#include "schema/query_calls.hpp"

namespace {

constexpr std::size_t buffer_size = 1 << 20;

gpuprof::cupti::Api cupti;
CUpti_SubscriberHandle subscriber;
std::mutex pool_mutex;
std::vector<std::uint8_t*> pool;
std::atomic<std::size_t> bytes{0};

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  const std::lock_guard lock(pool_mutex);
  *max_records = 0;
  *size = buffer_size;
  if (pool.empty()) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, buffer_size));
  } else {
    *buffer = pool.back();
    pool.pop_back();
  }
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                        std::size_t used) {
  bytes += used;
  const std::lock_guard lock(pool_mutex);
  pool.push_back(buffer);
}

bool number_nodes = false;  // known before CUPTI calls back

void number(CUgraphNode node) {
  std::uint64_t id = 0;
  if (node) cupti.cuptiGetGraphNodeId(node, &id);
}

void CUPTIAPI on_resource(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
  if (id != CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    const auto& graph = *static_cast<const CUpti_GraphData*>(
        static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    if (!number_nodes) return;
    number(graph.node);
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) number(graph.originalNode);
    return;
  }
  if (!cupti.cuptiActivityConfigureUnifiedMemoryCounter) return;
  CUpti_ActivityUnifiedMemoryCounterConfig counter{
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 0, 1};
  cupti.cuptiActivityConfigureUnifiedMemoryCounter(&counter, 1);
  cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

bool collected_by_default(const gpuprof::schema::KindInfo& kind) {
  using gpuprof::schema::Source;
  if (kind.source == Source::ourselves || kind.source == Source::with_other) return false;
  if (kind.id == gpuprof::schema::UnifiedMemoryCounter::info.id) return false;
  const char* only = std::getenv("BARE_GROUP");
  for (const auto& group : gpuprof::schema::groups) {
    if (group.group != kind.group) continue;
    return group.by_default && (!only || group.name.empty() || group.name == only);
  }
  return false;
}

// After the kinds were enabled, which overrides it.
void leave_out_queries() {
  const auto leave_out = [](CUpti_CallbackDomain domain, std::uint32_t size, auto enable) {
    for (std::uint32_t id = 1; id < size; ++id) {
      const char* name = nullptr;
      if (cupti.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name) continue;
      if (gpuprof::schema::only_asks(name)) enable(id, 0);
    }
  };
  leave_out(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE,
            cupti.cuptiActivityEnableRuntimeApi);
  leave_out(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE,
            cupti.cuptiActivityEnableDriverApi);
}

// --- user-defined records

void CUPTIAPI requested_v2(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records,
                           CUpti_BufferCallbackRequestInfo*) {
  requested(buffer, size, max_records);
}

void CUPTIAPI completed_v2(std::uint8_t* buffer, std::size_t size, std::size_t used,
                           CUpti_BufferCallbackCompleteInfo*) {
  completed(nullptr, 0, buffer, size, used);
}

// Calls a function that older versions lack. false: it failed, which is printed.
template <class F, class... Arguments>
bool call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<F>(cupti.symbol(name));
  const CUptiResult result = function ? function(arguments...) : CUPTI_ERROR_NOT_SUPPORTED;
  const char* text = "";
  if (result != CUPTI_SUCCESS) {
    cupti.cuptiGetResultString(result, &text);
    std::fprintf(stderr, "bare collector: %s: %d %s\n", name, static_cast<int>(result), text);
  }
  return result == CUPTI_SUCCESS;
}
#define CALL(function, ...) call<decltype(&function)>(#function, __VA_ARGS__)

bool enable_user_defined(CUpti_ActivityKind kind, std::vector<int> fields) {
  CUpti_ActivityConfig config{};
  config.structSize = CUpti_ActivityConfig_STRUCT_SIZE;
  config.fieldSelection = {sizeof(CUpti_ActivityFieldSelection), fields.size(), fields.data()};
  return CALL(cuptiActivityEnable_v2, subscriber, kind, &config);
}

bool collect_user_defined() {
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "bare collector";
  std::uint8_t on = 1;
  std::size_t size = sizeof on;
  return CALL(cuptiSubscribe_v2, &subscriber, &on_resource, nullptr, &params) &&
         CALL(cuptiActivitySetAttribute_v2, subscriber, CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS,
              &size, &on) &&
         CALL(cuptiActivityRegisterCallbacks_v2, subscriber, &requested_v2, &completed_v2) &&
         enable_user_defined(
             CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
             {KERNEL_FIELD_KIND, KERNEL_FIELD_START, KERNEL_FIELD_END, KERNEL_FIELD_DEVICE_ID,
              KERNEL_FIELD_CONTEXT_ID, KERNEL_FIELD_STREAM_ID, KERNEL_FIELD_CORRELATION_ID,
              KERNEL_FIELD_NAME, KERNEL_FIELD_GRID_X, KERNEL_FIELD_GRID_Y, KERNEL_FIELD_GRID_Z,
              KERNEL_FIELD_BLOCK_X, KERNEL_FIELD_BLOCK_Y, KERNEL_FIELD_BLOCK_Z,
              KERNEL_FIELD_DYNAMIC_SHARED_MEMORY, KERNEL_FIELD_GRAPH_NODE_ID}) &&
         enable_user_defined(
             CUPTI_ACTIVITY_KIND_MEMCPY,
             {MEMCPY_FIELD_KIND, MEMCPY_FIELD_COPY_KIND, MEMCPY_FIELD_BYTES, MEMCPY_FIELD_START,
              MEMCPY_FIELD_END, MEMCPY_FIELD_STREAM_ID, MEMCPY_FIELD_CORRELATION_ID}) &&
         enable_user_defined(
             CUPTI_ACTIVITY_KIND_MEMSET,
             {MEMSET_FIELD_KIND, MEMSET_FIELD_BYTES, MEMSET_FIELD_START, MEMSET_FIELD_END,
              MEMSET_FIELD_STREAM_ID, MEMSET_FIELD_CORRELATION_ID});
}

// The same kinds with whole records.
bool collect_full() {
  if (!CALL(cuptiSubscribe, &subscriber, &on_resource, nullptr)) return false;
  cupti.cuptiActivityRegisterCallbacks(&requested, &completed);
  for (const auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_MEMSET}) {
    if (!CALL(cuptiActivityEnable, kind)) return false;
  }
  return true;
}

void flush() { cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

void flush_and_print() {
  flush();
  std::fprintf(stderr, "bare collector: %zu bytes of records\n", bytes.load());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("BARE_CUPTI");
  std::string error;
  if (!path || !gpuprof::cupti::open(path, cupti, error)) {
    std::fprintf(stderr, "bare collector: BARE_CUPTI must name a libcupti: %s\n", error.c_str());
    return 1;
  }
  if (const char* records = std::getenv("BARE_RECORDS")) {
    const bool user_defined = std::string_view(records) == "user";
    if (user_defined ? collect_user_defined() : collect_full()) std::atexit(&flush_and_print);
    return 1;
  }
  if (cupti.cuptiSubscribe(&subscriber, &on_resource, nullptr) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "bare collector: CUPTI refuses another client\n");
    return 1;
  }
  cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                            CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  if (const char* nodes = std::getenv("BARE_NODES"); nodes && cupti.cuptiGetGraphNodeId) {
    number_nodes = std::string_view(nodes) == "numbers";
    for (const auto id :
         {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
      cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
    }
  }
  cupti.cuptiActivityRegisterCallbacks(&requested, &completed);
  for (const gpuprof::schema::KindRef& kind : gpuprof::schema::kinds) {
    if (collected_by_default(*kind.info)) {
      cupti.cuptiActivityEnable(static_cast<CUpti_ActivityKind>(kind.info->id));
    }
  }
  const char* left_out = std::getenv("BARE_LEAVE_OUT");
  if (left_out && std::string_view(left_out) == "queries" && cupti.cuptiGetCallbackName &&
      cupti.cuptiActivityEnableRuntimeApi && cupti.cuptiActivityEnableDriverApi) {
    leave_out_queries();
  }
  std::atexit(&flush);
  return 1;
}
