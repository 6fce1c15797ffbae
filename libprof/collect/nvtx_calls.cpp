#include "libprof/collect/nvtx_calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libprof/collect/keep_errno.hpp"
#include "libprof/wire/limits.hpp"

namespace gpuprof::collect {
namespace {

// Set before NVTX gets a function.
std::atomic<NvtxRecords*> records_of_process{nullptr};
std::atomic<NvtxHandles*> handles_of_process{nullptr};

// Arm's processors may show another thread NVTX's new function before what was stored earlier, for
// some nanoseconds.
template <class T>
T& stored(const std::atomic<T*>& place) {
  T* there = nullptr;
  while (!(there = place.load(std::memory_order_acquire))) {
  }
  return *there;
}

NvtxRecords& records() { return stored(records_of_process); }
NvtxHandles& handles() { return stored(handles_of_process); }

// NVTX's handles are pointers to what the collector keeps.
NvtxDomain& domain_of(nvtxDomainHandle_t handle) {
  return handle ? *reinterpret_cast<NvtxDomain*>(handle) : records().objects().default_domain();
}
const char* text_of(nvtxStringHandle_t handle) { return reinterpret_cast<const char*>(handle); }

// A wide text as UTF-8. Longer ones are truncated.
class Utf8 {
 public:
  explicit Utf8(const wchar_t* wide) {
    if (!wide) return;
    is_there_ = true;
    char* at = text_.data();
    char* const end = at + text_.size() - 5;
    for (; *wide && at < end; ++wide) at = put(at, static_cast<std::uint32_t>(*wide));
    *at = 0;
  }
  const char* text() const { return is_there_ ? text_.data() : nullptr; }

 private:
  static char* put(char* at, std::uint32_t c) {
    const auto byte = [&at](std::uint32_t bits) { *at++ = static_cast<char>(bits); };
    const auto more = [&](int shift) { byte(0x80 | (c >> shift & 0x3f)); };
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    if (c < 0x80) {
      byte(c);
    } else if (c < 0x800) {
      byte(0xc0 | c >> 6);
      more(0);
    } else if (c < 0x10000) {
      byte(0xe0 | c >> 12);
      more(6);
      more(0);
    } else {
      byte(0xf0 | c >> 18);
      more(12);
      more(6);
      more(0);
    }
    return at;
  }

  std::array<char, 2048> text_;
  bool is_there_ = false;
};

// More payloads in one event are left out.
constexpr std::size_t most_payloads = 16;

std::span<const nvtxPayloadData_t> payloads_of(const nvtxPayloadData_t* payloads,
                                               std::size_t count) {
  if (!payloads) return {};
  return {payloads, std::min(count, most_payloads)};
}

std::span<const nvtxPayloadData_t> payloads_of(const nvtxEventAttributes_t& event) {
  if (event.payloadType != NVTX_PAYLOAD_TYPE_EXT || event.reserved0 <= 0) return {};
  return payloads_of(reinterpret_cast<const nvtxPayloadData_t*>(event.payload.ullValue),
                     static_cast<std::size_t>(event.reserved0));
}

// Not in the caller, whose stack it would fill.
template <class F>
[[gnu::noinline]] auto with_utf8(const wchar_t* wide, F&& f) {
  const Utf8 text(wide);
  return f(text.text());
}

// Calls f(message) with the text of an event's message.
template <class Event, class F>
auto with_message(const Event& event, F&& f) {
  switch (event.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: return f(event.message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE: return with_utf8(event.message.unicode, f);
    case NVTX_MESSAGE_TYPE_REGISTERED: return f(text_of(event.message.registered));
    default: return f(static_cast<const char*>(nullptr));
  }
}

template <class F>
auto with_event(const nvtxEventAttributes_t* event, F&& f) {
  if (!event) return f(NvtxEvent());
  return with_message(*event, [&](const char* message) {
    const bool kept = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
    return f(NvtxEvent{message, kept, event, payloads_of(*event)});
  });
}

// --- marks and ranges

int push(const NvtxDomain& domain, const nvtxEventAttributes_t* event) {
  return with_event(event, [&](const NvtxEvent& it) { return records().push(domain, it); });
}
nvtxRangeId_t start(const NvtxDomain& domain, const nvtxEventAttributes_t* event) {
  return with_event(event, [&](const NvtxEvent& it) { return records().start(domain, it); });
}
void mark(const NvtxDomain& domain, const nvtxEventAttributes_t* event) {
  with_event(event, [&](const NvtxEvent& it) { records().mark(domain, it); });
}

void NVTX_API mark_ex(const nvtxEventAttributes_t* event) noexcept {
  mark(domain_of(nullptr), event);
}
void NVTX_API mark_a(const char* message) noexcept {
  records().mark(domain_of(nullptr), {.message = message});
}
void NVTX_API mark_w(const wchar_t* message) noexcept {
  with_utf8(message, [](const char* text) { mark_a(text); });
}
nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t* event) noexcept {
  return start(domain_of(nullptr), event);
}
nvtxRangeId_t NVTX_API start_a(const char* message) noexcept {
  return records().start(domain_of(nullptr), {.message = message});
}
nvtxRangeId_t NVTX_API start_w(const wchar_t* message) noexcept {
  return with_utf8(message, [](const char* text) { return start_a(text); });
}
void NVTX_API end(nvtxRangeId_t id) noexcept { records().end(id, domain_of(nullptr)); }
int NVTX_API push_ex(const nvtxEventAttributes_t* event) noexcept {
  return push(domain_of(nullptr), event);
}
int NVTX_API push_a(const char* message) noexcept {
  return records().push(domain_of(nullptr), {.message = message});
}
int NVTX_API push_w(const wchar_t* message) noexcept {
  return with_utf8(message, [](const char* text) { return push_a(text); });
}
int NVTX_API pop() noexcept { return records().pop(domain_of(nullptr)); }

void NVTX_API domain_mark_ex(nvtxDomainHandle_t domain,
                             const nvtxEventAttributes_t* event) noexcept {
  mark(domain_of(domain), event);
}
nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t domain,
                                       const nvtxEventAttributes_t* event) noexcept {
  return start(domain_of(domain), event);
}
void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) noexcept {
  records().end(id, domain_of(domain));
}
int NVTX_API domain_push_ex(nvtxDomainHandle_t domain,
                            const nvtxEventAttributes_t* event) noexcept {
  return push(domain_of(domain), event);
}
int NVTX_API domain_pop(nvtxDomainHandle_t domain) noexcept {
  return records().pop(domain_of(domain));
}

// --- domains and strings

// Returns what f() returns, or a value-initialized one if there is no memory, and after a fork.
template <class F>
auto guarded(F&& f) noexcept {
  if (records().forked()) return std::invoke_result_t<F>();
  const KeepErrno keep;
  try {
    return f();
  } catch (...) {
    return std::invoke_result_t<F>();
  }
}

nvtxDomainHandle_t NVTX_API create_domain_a(const char* name) noexcept {
  return guarded([name] {
    NvtxObjects& objects = records().objects();
    return reinterpret_cast<nvtxDomainHandle_t>(&objects.domain(name ? name : ""));
  });
}
nvtxDomainHandle_t NVTX_API create_domain_w(const wchar_t* name) noexcept {
  return with_utf8(name, [](const char* text) { return create_domain_a(text); });
}
nvtxStringHandle_t NVTX_API register_a(nvtxDomainHandle_t, const char* text) noexcept {
  return guarded([text]() -> nvtxStringHandle_t {
    if (!text) return nullptr;
    auto* const kept = const_cast<char*>(records().objects().text(text));
    return reinterpret_cast<nvtxStringHandle_t>(kept);
  });
}
nvtxStringHandle_t NVTX_API register_w(nvtxDomainHandle_t domain, const wchar_t* text) noexcept {
  return with_utf8(text, [domain](const char* utf8) { return register_a(domain, utf8); });
}

// --- names

void NVTX_API name_thread_a(std::uint32_t thread, const char* name) noexcept {
  CUpti_ActivityObjectKindId object{};
  object.pt.processId = static_cast<std::uint32_t>(getpid());
  object.pt.threadId = thread;
  records().name(CUPTI_ACTIVITY_OBJECT_THREAD, object, name);
}
void NVTX_API name_device_a(int device, const char* name) noexcept {
  guarded([&] { handles().name_device(records(), static_cast<std::uint32_t>(device), name); });
}
void NVTX_API name_context_a(nvtx_CUcontext context, const char* name) noexcept {
  guarded([&] { handles().name_context(records(), static_cast<CUcontext>(context), name); });
}
void NVTX_API name_stream_a(nvtx_CUstream stream, const char* name) noexcept {
  guarded([&] { handles().name_stream(records(), static_cast<CUstream>(stream), name); });
}

// The same function for a wide name.
template <auto Name, class Object>
void NVTX_API wide(Object object, const wchar_t* name) noexcept {
  with_utf8(name, [object](const char* text) { Name(object, text); });
}

// --- locks and the like

struct SyncUser {
  const NvtxDomain& domain;
  const char* name;
  std::uint32_t number;
};
using SyncUserHandle = nvtx_nvtxSyncUser_t;

// As nvToolsExtSync.h has it.
struct SyncUserAttributes {
  std::uint16_t version;
  std::uint16_t size;
  std::int32_t messageType;
  nvtxMessageValue_t message;
};

SyncUserHandle NVTX_API create_sync_user(nvtxDomainHandle_t domain,
                                         const nvtx_nvtxSyncUserAttributes_t* attributes) noexcept {
  return guarded([&]() -> SyncUserHandle {
    const auto kept = [](const char* text) {
      return text ? records().objects().text(text) : nullptr;
    };
    const auto* const given = static_cast<const SyncUserAttributes*>(attributes);
    return new (std::nothrow) SyncUser{
        domain_of(domain), given ? with_message(*given, kept) : nullptr, records().new_id()};
  });
}
void NVTX_API destroy_sync_user(SyncUserHandle handle) noexcept {
  delete static_cast<SyncUser*>(handle);
}
template <std::uint32_t Flag>
void NVTX_API sync_user(SyncUserHandle handle) noexcept {
  if (!handle) return;
  const auto& it = *static_cast<const SyncUser*>(handle);
  records().synchronize(it.domain, it.number, it.name, Flag);
}

// --- payloads with layouts

std::string text(const char* text) { return text ? text : ""; }

std::size_t count_of(std::size_t entries) {
  return std::min<std::size_t>(entries, wire::max_payload_entries);
}

// A member of attributes, if the program has set it.
template <class Attributes, class T>
T given(const Attributes& attributes, std::uint64_t flag, T value) {
  return attributes.fieldMask & flag ? value : T();
}

std::uint64_t NVTX_API register_schema(nvtxDomainHandle_t domain,
                                       const nvtxPayloadSchemaAttr_t* layout) noexcept {
  return guarded([&]() -> std::uint64_t {
    if (!layout || !layout->entries) return 0;
    wire::PayloadSchema schema;
    schema.domain = domain_of(domain).number;
    schema.id = given(*layout, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID, layout->schemaId);
    schema.size =
        given(*layout, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE, layout->payloadStaticSize);
    schema.name = text(given(*layout, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME, layout->name));
    for (std::size_t i = 0; i < count_of(layout->numEntries); ++i) {
      const nvtxPayloadSchemaEntry_t& entry = layout->entries[i];
      schema.entries.push_back(
          {text(entry.name), entry.type, entry.flags, entry.arrayOrUnionDetail, entry.offset});
    }
    return records().objects().add(std::move(schema));
  });
}

std::uint64_t NVTX_API register_enum(nvtxDomainHandle_t domain,
                                     const nvtxPayloadEnumAttr_t* values) noexcept {
  return guarded([&]() -> std::uint64_t {
    if (!values || !values->entries) return 0;
    wire::PayloadSchema schema;
    schema.domain = domain_of(domain).number;
    schema.id = given(*values, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID, values->schemaId);
    schema.is_enum = true;
    schema.size = given(*values, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE, values->sizeOfEnum);
    schema.name = text(given(*values, NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME, values->name));
    for (std::size_t i = 0; i < count_of(values->numEntries); ++i) {
      const nvtxPayloadEnum_t& entry = values->entries[i];
      schema.entries.push_back({text(entry.name), entry.value, 0, 0, 0});
    }
    return records().objects().add(std::move(schema));
  });
}

using Payloads = const nvtxPayloadData_t*;

void NVTX_API mark_payload(nvtxDomainHandle_t domain, Payloads payloads,
                           std::size_t count) noexcept {
  records().mark(domain_of(domain), {.payloads = payloads_of(payloads, count)});
}
int NVTX_API push_payload(nvtxDomainHandle_t domain, Payloads payloads,
                          std::size_t count) noexcept {
  return records().push(domain_of(domain), {.payloads = payloads_of(payloads, count)});
}
int NVTX_API pop_payload(nvtxDomainHandle_t domain, Payloads payloads, std::size_t count) noexcept {
  return records().pop(domain_of(domain), payloads_of(payloads, count));
}
nvtxRangeId_t NVTX_API start_payload(nvtxDomainHandle_t domain, Payloads payloads,
                                     std::size_t count) noexcept {
  return records().start(domain_of(domain), {.payloads = payloads_of(payloads, count)});
}
void NVTX_API end_payload(nvtxDomainHandle_t domain, nvtxRangeId_t id, Payloads payloads,
                          std::size_t count) noexcept {
  records().end(id, domain_of(domain), payloads_of(payloads, count));
}
std::uint8_t NVTX_API is_enabled(nvtxDomainHandle_t domain) noexcept {
  return records().is_enabled(domain_of(domain));
}

// The program names what does not exist, or not yet.
constexpr std::initializer_list<CUptiResult> unknown = {
    CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_INVALID_CONTEXT, CUPTI_ERROR_INVALID_STREAM,
    CUPTI_ERROR_NOT_INITIALIZED};

// --- tables

// One of a copy's tables of functions.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& tables, NvtxCallbackModule module) {
    if (tables.GetModuleFunctionTable(module, &functions_, &size_) == 0) size_ = 0;
  }
  template <class Id, class F>
  Table& set(Id id, F* function) {
    const auto at = static_cast<unsigned int>(id);
    if (functions_ && at < size_ && functions_[at]) {
      *functions_[at] = reinterpret_cast<NvtxFunctionPointer>(function);
    }
    return *this;
  }

 private:
  NvtxFunctionTable functions_ = nullptr;
  unsigned int size_ = 0;
};

void set_core(const NvtxExportTableCallbacks& tables) {
  Table(tables, NVTX_CB_MODULE_CORE)
      .set(NVTX_CBID_CORE_MarkEx, &mark_ex)
      .set(NVTX_CBID_CORE_MarkA, &mark_a)
      .set(NVTX_CBID_CORE_MarkW, &mark_w)
      .set(NVTX_CBID_CORE_RangeStartEx, &start_ex)
      .set(NVTX_CBID_CORE_RangeStartA, &start_a)
      .set(NVTX_CBID_CORE_RangeStartW, &start_w)
      .set(NVTX_CBID_CORE_RangeEnd, &end)
      .set(NVTX_CBID_CORE_RangePushEx, &push_ex)
      .set(NVTX_CBID_CORE_RangePushA, &push_a)
      .set(NVTX_CBID_CORE_RangePushW, &push_w)
      .set(NVTX_CBID_CORE_RangePop, &pop)
      .set(NVTX_CBID_CORE_NameOsThreadA, &name_thread_a)
      .set(NVTX_CBID_CORE_NameOsThreadW, &wide<&name_thread_a, std::uint32_t>);
  Table(tables, NVTX_CB_MODULE_CORE2)
      .set(NVTX_CBID_CORE2_DomainMarkEx, &domain_mark_ex)
      .set(NVTX_CBID_CORE2_DomainRangeStartEx, &domain_start_ex)
      .set(NVTX_CBID_CORE2_DomainRangeEnd, &domain_end)
      .set(NVTX_CBID_CORE2_DomainRangePushEx, &domain_push_ex)
      .set(NVTX_CBID_CORE2_DomainRangePop, &domain_pop)
      .set(NVTX_CBID_CORE2_DomainRegisterStringA, &register_a)
      .set(NVTX_CBID_CORE2_DomainRegisterStringW, &register_w)
      .set(NVTX_CBID_CORE2_DomainCreateA, &create_domain_a)
      .set(NVTX_CBID_CORE2_DomainCreateW, &create_domain_w);
  Table(tables, NVTX_CB_MODULE_SYNC)
      .set(NVTX_CBID_SYNC_DomainSyncUserCreate, &create_sync_user)
      .set(NVTX_CBID_SYNC_DomainSyncUserDestroy, &destroy_sync_user)
      .set(NVTX_CBID_SYNC_DomainSyncUserAcquireStart,
           &sync_user<CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE>)
      .set(NVTX_CBID_SYNC_DomainSyncUserAcquireFailed,
           &sync_user<CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_FAILED>)
      .set(NVTX_CBID_SYNC_DomainSyncUserAcquireSuccess,
           &sync_user<CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_SUCCESS>)
      .set(NVTX_CBID_SYNC_DomainSyncUserReleasing,
           &sync_user<CUPTI_ACTIVITY_FLAG_MARKER_SYNC_RELEASE>);
}

// A stream or device has the same handle or number in the runtime and in the driver.
void set_cuda(const NvtxExportTableCallbacks& tables) {
  Table(tables, NVTX_CB_MODULE_CUDA)
      .set(NVTX_CBID_CUDA_NameCuDeviceA, &name_device_a)
      .set(NVTX_CBID_CUDA_NameCuDeviceW, &wide<&name_device_a, int>)
      .set(NVTX_CBID_CUDA_NameCuContextA, &name_context_a)
      .set(NVTX_CBID_CUDA_NameCuContextW, &wide<&name_context_a, nvtx_CUcontext>)
      .set(NVTX_CBID_CUDA_NameCuStreamA, &name_stream_a)
      .set(NVTX_CBID_CUDA_NameCuStreamW, &wide<&name_stream_a, nvtx_CUstream>);
  Table(tables, NVTX_CB_MODULE_CUDART)
      .set(NVTX_CBID_CUDART_NameCudaDeviceA, &name_device_a)
      .set(NVTX_CBID_CUDART_NameCudaDeviceW, &wide<&name_device_a, int>)
      .set(NVTX_CBID_CUDART_NameCudaStreamA, &name_stream_a)
      .set(NVTX_CBID_CUDART_NameCudaStreamW, &wide<&name_stream_a, nvtx_CUstream>);
}

}  // namespace

// --- handles

void NvtxHandles::name_device(NvtxRecords& records, std::uint32_t device, const char* name) {
  CUpti_ActivityObjectKindId object{};
  object.dcs.deviceId = device;
  records.name(CUPTI_ACTIVITY_OBJECT_DEVICE, object, name);
}

void NvtxHandles::name_context(NvtxRecords& records, CUcontext context, const char* name) {
  CUpti_ActivityObjectKindId object{};
  if (find(context, object)) records.name(CUPTI_ACTIVITY_OBJECT_CONTEXT, object, name);
}

void NvtxHandles::name_stream(NvtxRecords& records, CUstream stream, const char* name) {
  CUpti_ActivityObjectKindId object{};
  const std::vector<CUcontext> contexts = contexts_.all();
  const CUcontext context = contexts.size() == 1 ? contexts[0] : current_context();
  if (!find(context, object) || !cupti_.cuptiGetStreamIdEx) return;
  std::uint32_t id = 0;
  const bool is_per_thread = stream == CU_STREAM_PER_THREAD;
  if (!cupti_.try_("cuptiGetStreamIdEx",
                   cupti_.cuptiGetStreamIdEx(context, stream, is_per_thread, &id), unknown)) {
    return;
  }
  object.dcs.streamId = id;
  records.name(CUPTI_ACTIVITY_OBJECT_STREAM, object, name);
}

bool NvtxHandles::find(CUcontext context, CUpti_ActivityObjectKindId& object) {
  std::uint32_t id = 0, device = 0;
  if (!context || !cupti_.cuptiGetContextId || !cupti_.cuptiGetDeviceId ||
      !cupti_.try_("cuptiGetContextId", cupti_.cuptiGetContextId(context, &id), unknown) ||
      !cupti_.try_("cuptiGetDeviceId", cupti_.cuptiGetDeviceId(context, &device), unknown)) {
    return false;
  }
  object.dcs.deviceId = device;
  object.dcs.contextId = id;
  return true;
}

// --- injection

bool take_nvtx(NvtxGetExportTableFunc_t get_export_table, NvtxRecords& records,
               NvtxHandles& handles) {
  records_of_process.store(&records);
  handles_of_process.store(&handles);
  const auto* const tables =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (!tables || tables->struct_size < sizeof *tables || !tables->GetModuleFunctionTable) {
    return false;
  }
  set_core(*tables);
  set_cuda(*tables);
  return true;
}

void take_nvtx_extension(nvtxExtModuleInfo_t& extension, NvtxRecords& records) {
  records_of_process.store(&records);
  // The other half of the number counts compatible changes.
  constexpr int compatible = NVTX_EXT_PAYLOAD_COMPATID >> 8;
  if (extension.moduleId != NVTX_EXT_PAYLOAD_MODULEID || extension.compatId >> 8 != compatible ||
      extension.segmentsCount == 0 || !extension.segments) {
    return;
  }
  const nvtxExtModuleSegment_t& slots = extension.segments[0];
  const auto set = [&slots](std::size_t id, auto* function) {
    if (id < slots.slotCount) slots.functionSlots[id] = reinterpret_cast<std::intptr_t>(function);
  };
  set(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, &register_schema);
  set(NVTX3EXT_CBID_nvtxPayloadEnumRegister, &register_enum);
  set(NVTX3EXT_CBID_nvtxMarkPayload, &mark_payload);
  set(NVTX3EXT_CBID_nvtxRangePushPayload, &push_payload);
  set(NVTX3EXT_CBID_nvtxRangePopPayload, &pop_payload);
  set(NVTX3EXT_CBID_nvtxRangeStartPayload, &start_payload);
  set(NVTX3EXT_CBID_nvtxRangeEndPayload, &end_payload);
  set(NVTX3EXT_CBID_nvtxDomainIsEnabled, &is_enabled);
}

}  // namespace gpuprof::collect
