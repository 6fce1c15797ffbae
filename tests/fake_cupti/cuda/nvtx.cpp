// Calls of the real NVTX, whose headers load the injection library that NVTX_INJECTION64_PATH
// names at the first call, before or after cuInit. The stand-in CUPTI counts what is recorded of
// them.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdint>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"
#include "tests/fake_cupti/hooks.hpp"

const fake::Hooks* fake_cuda_hooks();

namespace {

// CUPTI's numbers of the kinds; its headers have CUDA's, which the stand-in does without.
constexpr std::uint32_t marker = 12, marker_data = 13;

void count(std::uint32_t kind) {
  if (const auto* hooks = fake_cuda_hooks()) hooks->recorded_by_client(kind);
}

nvtxEventAttributes_t attributes(const char* message) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = message;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff00ff00;
  event.category = 2;
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  event.payload.llValue = 7;
  return event;
}

void count_event() {
  count(marker);
  count(marker_data);
}

// The layout of a message, and the enum in it.
std::uint64_t register_layout() {
  const nvtxPayloadEnum_t values[] = {{"send", 1, 0}, {"receive", 2, 0}};
  nvtxPayloadEnumAttr_t operation{};
  operation.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME | NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                        NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                        NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
  operation.name = "Operation";
  operation.entries = values;
  operation.numEntries = 2;
  operation.sizeOfEnum = 4;
  const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "peer", nullptr, 0, 0, nullptr, nullptr},
      {0, nvtxPayloadEnumRegister(nullptr, &operation), "operation", nullptr, 0, 4, nullptr,
       nullptr},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", nullptr, 0, 8, nullptr, nullptr},
  };
  nvtxPayloadSchemaAttr_t message{};
  message.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  message.name = "Message";
  message.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  message.entries = entries;
  message.numEntries = 3;
  message.payloadStaticSize = 16;
  return nvtxPayloadSchemaRegister(nullptr, &message);
}

}  // namespace

extern "C" {

void fake_nvtx_push(const char* message) {
  const nvtxEventAttributes_t event = attributes(message);
  if (nvtxRangePushEx(&event) >= 0) count_event();
}

void fake_nvtx_pop() {
  if (nvtxRangePop() >= 0) count(marker);
}

void fake_nvtx_mark(const char* message) {
  const nvtxEventAttributes_t event = attributes(message);
  nvtxMarkEx(&event);
  count_event();
}

void fake_nvtx_push_payload(const char* message, const void* bytes, std::size_t size) {
  static const std::uint64_t layout = register_layout();
  const nvtxPayloadData_t payload{layout, size, bytes};
  nvtxEventAttributes_t event = attributes(message);
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = reinterpret_cast<std::uint64_t>(&payload);
  if (nvtxRangePushEx(&event) >= 0) count_event();
}

}  // extern "C"
