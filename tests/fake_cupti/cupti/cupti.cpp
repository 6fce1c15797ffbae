// The stand-in libcupti.so: subscribing, callbacks, buffers, names. What its kinds, hooks and the
// profiling API do has files of its own.
//
// Linked twice: bare.map leaves out the functions that gpuprof can do without.
#include <cupti.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/driver_hooks.hpp"
#include "tests/fake_cupti/cupti/records.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"
#include "tests/fake_cupti/cupti/state.hpp"
#include "tests/fake_cupti/hooks.hpp"

namespace {

using namespace fake;

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
    case CUPTI_ERROR_INVALID_OPERATION: *text = "CUPTI_ERROR_INVALID_OPERATION"; break;
    case CUPTI_ERROR_NOT_SUPPORTED: *text = "CUPTI_ERROR_NOT_SUPPORTED"; break;
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
  cupti().subscribed_late.store(cupti().driver_up.load());
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

CUptiResult cuptiEnableDomain(std::uint32_t enabled, CUpti_SubscriberHandle,
                              CUpti_CallbackDomain domain) {
  FAIL_IF_TOLD(static_cast<long>(domain));
  if (static_cast<std::size_t>(domain) >= domains) return CUPTI_ERROR_INVALID_PARAMETER;
  for (auto& callback : cupti().callbacks[domain]) callback.store(enabled != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  FAIL_IF_TOLD();
  register_buffer_callbacks(requested, completed);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  FAIL_IF_TOLD();
  use_clock(clock);
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
  *now = in_clients_clock(timestamp());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, std::size_t*,
                                      void* value) {
  FAIL_IF_TOLD(static_cast<long>(attribute));
  if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT) {
    cupti().device_buffers.store(*static_cast<const std::size_t*>(value));
  }
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

}  // extern "C"
