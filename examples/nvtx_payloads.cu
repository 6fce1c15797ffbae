// NVTX ranges with a struct as their payload, like NCCL's.
//
//   nvtx_payloads [operations]
//
// Each operation is a push/pop range "send" or "receive" in the domain "example.links" around a
// copy, with a payload of schema "Transfer": peer (an int), bytes (a size), speed (a double),
// operation (an enum) and label (text of fixed length). Prints "ok" and exits with 0. Default: 4
// operations.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

namespace {

enum class Operation : std::uint32_t { send = 1, receive = 2 };

struct Transfer {
  std::int32_t peer;
  Operation operation;
  std::size_t bytes;
  double speed;  // bytes per second
  char label[8];
};

std::uint64_t register_operation(nvtxDomainHandle_t domain) {
  static const nvtxPayloadEnum_t values[] = {{"send", 1, 0}, {"receive", 2, 0}};
  nvtxPayloadEnumAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME | NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
  attributes.name = "Operation";
  attributes.entries = values;
  attributes.numEntries = 2;
  attributes.sizeOfEnum = sizeof(Operation);
  return nvtxPayloadEnumRegister(domain, &attributes);
}

std::uint64_t register_transfer(nvtxDomainHandle_t domain, std::uint64_t operation) {
  const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "peer", "", 0, offsetof(Transfer, peer)},
      {0, operation, "operation", "", 0, offsetof(Transfer, operation)},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "bytes", "", 0, offsetof(Transfer, bytes)},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "speed", "", 0, offsetof(Transfer, speed)},
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "label", "",
       sizeof Transfer::label, offsetof(Transfer, label)},
  };
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  attributes.name = "Transfer";
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries;
  attributes.numEntries = sizeof entries / sizeof *entries;
  attributes.payloadStaticSize = sizeof(Transfer);
  return nvtxPayloadSchemaRegister(domain, &attributes);
}

}  // namespace

int main(int argc, char** argv) {
  const int operations = argc > 1 ? std::atoi(argv[1]) : 4;
  nvtxDomainHandle_t domain = nvtxDomainCreateA("example.links");
  const std::uint64_t schema = register_transfer(domain, register_operation(domain));

  constexpr std::size_t bytes = 1 << 20;
  char *there, *here;
  CHECK(cudaMalloc(&there, bytes));
  CHECK(cudaMallocHost(&here, bytes));
  for (int i = 0; i < operations; ++i) {
    const bool sends = i % 2 == 0;
    const Transfer transfer{i, sends ? Operation::send : Operation::receive, bytes >> i,
                            1.5e9 * (i + 1), "lane-7"};
    nvtxPayloadData_t payload{schema, sizeof transfer, &transfer};
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = sends ? "send" : "receive";
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;  // one payload
    event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&payload);
    nvtxDomainRangePushEx(domain, &event);
    CHECK(cudaMemcpy(sends ? there : here, sends ? here : there, bytes >> i, cudaMemcpyDefault));
    nvtxDomainRangePop(domain);
  }
  CHECK(cudaDeviceSynchronize());
  std::printf("ok\n");
  return 0;
}
