// The least a CUPTI activity collector can do: the kinds gpuprof collects by default, 1 MiB buffers
// from a pool, thrown away as they come back. What scripts/bench_overhead and scripts/bench_torch
// hold gpuprof against.
//
// Loaded through CUDA_INJECTION64_PATH. BARE_CUPTI names the libcupti. BARE_LEAVE_OUT=queries
// leaves out the calls that gpuprof leaves out by default; BARE_GROUP=gpu has no other kinds than
// those of that group, and what is always on.
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

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  const std::lock_guard lock(pool_mutex);
  pool.push_back(buffer);
}

void CUPTIAPI on_context(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
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

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("BARE_CUPTI");
  std::string error;
  if (!path || !gpuprof::cupti::open(path, cupti, error) ||
      cupti.cuptiSubscribe(&subscriber, &on_context, nullptr) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "bare collector: BARE_CUPTI must name a libcupti: %s\n", error.c_str());
    return 1;
  }
  cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                            CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
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
  std::atexit([] { cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); });
  return 1;
}
