// NVTX of the stand-in: markers, their data, payloads with a layout.
#define NVTX_NO_IMPL
#include <cupti.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/kept_texts.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"
#include "tests/fake_cupti/cupti/state.hpp"
#include "tests/fake_cupti/hooks.hpp"

namespace {

using namespace fake;

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

}  // namespace

extern "C" {

// NVTX's entry: an argument that gives NVTX's tables.
CUptiResult cuptiNvtxInitialize2(void* get_export_table) {
  FAIL_IF_TOLD();
  NvtxTable* table = reinterpret_cast<NvtxExport>(get_export_table)(nvtx_table_id);
  if (!table) return CUPTI_ERROR_UNKNOWN;
  *table = {&nvtx_push, &nvtx_pop, &nvtx_mark, &nvtx_push_payload};
  return CUPTI_SUCCESS;
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

}  // extern "C"
