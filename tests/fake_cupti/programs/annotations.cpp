// annotations: what a program can say through NVTX, by a copy of NVTX of its own (the stand-in for
// CUDA has another). Ends with 1 if NVTX returns something wrong.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

bool all_right = true;

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  all_right = false;
}

nvtxEventAttributes_t event(const char* message) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = message;
  return attributes;
}

// Levels count for each domain, and the domains' ranges may cross.
void levels(nvtxDomainHandle_t domain) {
  const nvtxEventAttributes_t mine = event("of the domain");
  expect(nvtxRangePushA("outer") == 0, "level of the first range");
  expect(nvtxDomainRangePushEx(domain, &mine) == 0, "level of the first range of a domain");
  expect(nvtxRangePushA("inner") == 1, "level of the second range");
  expect(nvtxDomainRangePop(domain) == 0, "level of the domain's end");
  expect(nvtxRangePop() == 1, "level of the inner end");
  expect(nvtxRangePop() == 0, "level of the outer end");
  expect(nvtxRangePop() < 0, "an end without a range");
}

// Texts in memory that is used again.
void changing_texts() {
  char text[16];
  for (int i = 0; i < 3; ++i) {
    std::snprintf(text, sizeof text, "step %d", i);
    nvtxRangePushA(text);
    nvtxRangePop();
  }
  std::memset(text, 0, sizeof text);
}

void messages(nvtxDomainHandle_t domain) {
  nvtxEventAttributes_t registered = event(nullptr);
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxDomainMarkEx(domain, &registered);
  nvtxMarkW(L"wide \u00e9\u20ac\U0001f600");
  const nvtxEventAttributes_t nameless = event(nullptr);
  nvtxMarkEx(&nameless);
}

void payloads(nvtxDomainHandle_t domain) {
  const auto mark = [domain](const char* message, auto set) {
    nvtxEventAttributes_t attributes = event(message);
    set(attributes);
    nvtxDomainMarkEx(domain, &attributes);
  };
  mark("uint64", [](auto& it) {
    it.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    it.payload.ullValue = 1;
  });
  mark("int64", [](auto& it) {
    it.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    it.payload.llValue = -2;
  });
  mark("double", [](auto& it) {
    it.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    it.payload.dValue = 0.25;
  });
  mark("uint32", [](auto& it) {
    it.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    it.payload.uiValue = 0xffffffff;
  });
  mark("int32", [](auto& it) {
    it.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    it.payload.iValue = -3;
  });
  mark("float", [](auto& it) {
    it.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    it.payload.fValue = 0.5f;
  });
  mark("color", [](auto& it) {
    it.colorType = NVTX_COLOR_ARGB;
    it.color = 0xff102030;
    it.category = 9;
  });
  const std::int64_t number = 11;
  const nvtxPayloadData_t both[] = {
      {NVTX_PAYLOAD_ENTRY_TYPE_INT64, sizeof number, &number},
      {NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, SIZE_MAX, "text of a payload"},
  };
  nvtxMarkPayload(domain, both, 2);
}

}  // namespace

int main() {
  nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), "first thread");
  fake_launch("kernel", 1);
  nvtxDomainHandle_t domain = nvtxDomainCreateA("sky");
  expect(domain == nvtxDomainCreateA("sky"), "a domain with the same name");
  nvtxDomainHandle_t other = nvtxDomainCreateW(L"sea");
  expect(domain != other, "another domain");

  // Start/end ranges: one nests in a range of push and pop, one ends in another thread.
  nvtxRangePushA("around");
  const nvtxRangeId_t nested = nvtxRangeStartA("nested");
  expect((nested != 0) == (nvtxDomainIsEnabled(nullptr) != 0), "an id if it is recorded");
  nvtxRangeEnd(nested);
  const nvtxEventAttributes_t handed = event("handed over");
  const nvtxRangeId_t over = nvtxDomainRangeStartEx(other, &handed);
  std::thread([over, other] { nvtxDomainRangeEnd(other, over); }).join();
  nvtxRangePop();

  levels(domain);
  changing_texts();
  messages(domain);
  payloads(domain);
  fake_nvtx_mark("of the other copy");
  nvtxNameCudaStreamA(nullptr, "default stream");
  nvtxNameCudaDeviceA(0, "first device");

  const nvtxSyncUserAttributes_t attributes{
      NVTX_VERSION, NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE, NVTX_MESSAGE_TYPE_ASCII, {.ascii = "lock"}};
  nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(domain, &attributes);
  nvtxDomainSyncUserAcquireStart(lock);
  nvtxDomainSyncUserAcquireSuccess(lock);
  nvtxDomainSyncUserReleasing(lock);
  nvtxDomainSyncUserDestroy(lock);

  nvtxRangePushA("never ends");
  fake_synchronize();
  return all_right ? 0 : 1;
}
