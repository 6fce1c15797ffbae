#include "tests/fake_cupti/cupti/driver_hooks.hpp"

#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/launch_params.hpp"
#include "tests/fake_cupti/cupti/memory_params.hpp"
#include "tests/fake_cupti/cupti/pc_sampling.hpp"
#include "tests/fake_cupti/cupti/range_profiler.hpp"
#include "tests/fake_cupti/cupti/sass_metrics.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"
#include "tests/fake_cupti/cupti/state.hpp"
#include "tests/fake_cupti/cupti/work_records.hpp"

namespace fake {
namespace {

void call_back_api(ApiCall& call, CUpti_ApiCallbackSite site, std::uint32_t* result) {
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = call.function;
  data.functionReturnValue = result;
  data.symbolName = call.symbol;
  data.context = static_cast<CUcontext>(call.context);
  data.correlationData = &call.correlation_data;
  data.correlationId = call.correlation;
  data.functionParams = call.params;
  LaunchParams params;
  if (call.launch) data.functionParams = fill(params, call);
  MemoryParams memory;
  if (call.memory) data.functionParams = fill(memory, call);
  if (call.context) data.contextUid = static_cast<const Context*>(call.context)->id;
  call_back(call.runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, call.cbid,
            &data);
}

// Which calls have a record: all of an enabled kind, and those asked for one by one. A launch or a
// wait that the driver makes for the runtime has one only where the runtime's has none.
bool is_recorded(const ApiCall& call) {
  const Wish wish = (call.runtime ? cupti().runtime_wish : cupti().driver_wish)[call.cbid].load();
  if (wish == off) return false;
  if (call.cbid == CUPTI_DRIVER_TRACE_CBID_cuKernelGetName && !call.runtime && !name_calls()) {
    return false;
  }
  const bool waits = !call.runtime && call.cbid == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize;
  if (call.nested && (call.launch || waits)) return wish == on && !call.parent_recorded;
  return wish == on ||
         wants(call.runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER);
}

// Calls of the runtime that the thread is in, as far as CUPTI has seen them begin and end.
thread_local int open_calls = 0;

bool sees(const ApiCall& call) {
  return wants(CUPTI_ACTIVITY_KIND_RUNTIME) ||
         cupti().callbacks[CUPTI_CB_DOMAIN_RUNTIME_API][call.cbid].load();
}

void on_enter(ApiCall& call) {
  if (call.runtime && sees(call)) ++open_calls;
  // As CUPTI 13.0: if it did not see the end of a call, it takes one inside of a later call for a
  // call of its own.
  if (!call.nested || open_calls > 1) {
    // 0 is no correlation id.
    do {
      call.correlation = cupti().next_correlation.fetch_add(1);
    } while (call.correlation == 0);
  }
  call.recorded = is_recorded(call);
  call_back_api(call, CUPTI_API_ENTER, nullptr);
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

// A client that hears of a call which only waits, and of this one, makes records of them itself.
bool client_records(const ApiCall& call) {
  const auto& callbacks = cupti().callbacks;
  const auto domain = call.runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  return !call.nested && !are_forked() && !(is_only_collectors(call.cbid) && !call.runtime) &&
         callbacks[domain][call.cbid].load() &&
         callbacks[CUPTI_CB_DOMAIN_RUNTIME_API]
                  [CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020]
                      .load();
}

// Such a client makes a record of the wait inside, too.
bool client_records_wait(const ApiCall& call) {
  return call.nested && !are_forked() && call.cbid == CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize &&
         cupti()
             .callbacks[CUPTI_CB_DOMAIN_DRIVER_API][CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent]
             .load();
}

void on_exit(ApiCall& call, std::uint32_t result) {
  const std::uint32_t kind =
      call.runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  const bool by_client = client_records(call);
  call_back_api(call, CUPTI_API_EXIT, &result);
  if (by_client) note_in_ledger(kind);
  if (call.runtime && sees(call) && open_calls > 0) --open_calls;
  if (client_records_wait(call)) note_in_ledger(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  if (!call.recorded) return;
  write_external_ids(call.correlation);
  auto record = blank<CUpti_ActivityAPI>();
  record.cbid = call.cbid;
  record.start = in_clients_clock(call.start);
  record.end = in_clients_clock(timestamp());
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = thread_id();
  record.correlationId = call.correlation;
  record.returnValue = result;
  append(kind, &record);
}

void on_device(std::uint32_t device) {
  {
    const std::lock_guard lock(cupti().mutex);
    cupti().devices.push_back(device);
  }
  const bool first = !cupti().driver_up.exchange(true);
  if (wants(CUPTI_ACTIVITY_KIND_DEVICE)) write_device(device);
  if (!first) return;
  end_hardware_tracing(0);
  call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr);
}

void write_green_context(const Context& context) {
  CUpti_ActivityGreenContext3 record{};
  record.contextId = context.id;
  record.parentContextId = context.parent->id;
  record.deviceId = context.device;
  record.numMultiprocessors = static_cast<std::uint16_t>(33 * context.instances);
  record.logicalTpcMaskSize = 2;
  record.logicalTpcMask[0] = 0x0025b600;
  append(CUPTI_ACTIVITY_KIND_GREEN_CONTEXT, &record);
}

void on_context_created(void* context, std::uint32_t id, std::uint32_t device) {
  {
    const std::lock_guard lock(cupti().mutex);
    cupti().contexts[id] = device;
  }
  const auto& made = *static_cast<const Context*>(context);
  if (made.parent && version() >= 130200) {
    if (wants(CUPTI_ACTIVITY_KIND_GREEN_CONTEXT)) write_green_context(made);
  } else if (wants(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    write_context(id, device);
  }
  if (wants(CUPTI_ACTIVITY_KIND_STREAM)) write_stream(id);
  pc_context_created(context, id, device);
  sass_context_created(context, id, device);
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
  pc_context_destroyed(context);
  sass_context_destroyed(context);
}

void on_module_loaded(void* context, std::uint32_t id, const void* cubin, std::size_t size) {
  note_cubin(id, cubin, size);
  CUpti_ModuleResourceData module{};
  module.moduleId = id;
  module.cubinSize = size;
  module.pCubin = static_cast<const char*>(cubin);
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(context);
  data.resourceDescriptor = &module;
  call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

void on_module_unloaded(void* context, std::uint32_t id) {
  sass_module_unloaded(context);
  CUpti_ModuleResourceData module{};
  module.moduleId = id;
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(context);
  data.resourceDescriptor = &module;
  call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, &data);
  forget_cubin(id);
}

void on_graph_node(GraphNode node, GraphNode original, bool updated) {
  CUpti_GraphData graph{};
  graph.graph = reinterpret_cast<CUgraph>(node.graph);
  graph.node = reinterpret_cast<CUgraphNode>(node.node);
  graph.originalGraph = reinterpret_cast<CUgraph>(original.graph);
  graph.originalNode = reinterpret_cast<CUgraphNode>(original.node);
  graph.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph;
  call_back(CUPTI_CB_DOMAIN_RESOURCE,
            updated         ? CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED
            : original.node ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
                            : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
            &data);
}

void on_state_error() {
  for (auto& kind : cupti().enabled) kind.store(false);
  CUpti_StateData data{};
  data.notification.result = CUPTI_ERROR_UNKNOWN;
  data.notification.message = "the stand-in was told to fail";
  call_back(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
}

}  // namespace

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
                      &on_module_unloaded,
                      &on_state_error,
                      &note_in_ledger,
                      &on_graph_node};

void end_hardware_tracing(long kernels) {
  const CUptiResult refusal = hardware_tracing_refusal(kernels);
  if (refusal == CUPTI_SUCCESS || !cupti().hardware_tracing.exchange(false)) return;
  CUpti_StateData data{};
  data.notification.result = refusal;
  data.notification.message = "Falling back to software based CUPTI tracing.";
  call_back(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_ERROR, &data);
}

SetHooks driver_entry() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<SetHooks>(dlsym(driver, set_hooks_name)) : nullptr;
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

}  // namespace fake

using namespace fake;

extern "C" {

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

}  // extern "C"
