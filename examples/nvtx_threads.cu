// NVTX from several threads: nested ranges in two domains with payloads, colors and categories,
// ranges that begin in one thread and end in another, and marks.
//
//   nvtx_threads [threads] [steps]
//
// Prints "ok" and exits with 0. Defaults: 4 threads, 3 steps. Creates
//   in the main thread   start/end range "everything"
//   per thread t         start/end range "hand over t", started in main and ended in the thread;
//                        push/pop "thread" (default domain), payload t; inside it a mark "ready"
//   per thread and step  in domain "example.steps", category 7 "steps", color 0xFF00A000:
//                        push/pop "step", payload step + 0.5, and "launch" inside it, a kernel each
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "examples/check.hpp"

namespace {

constexpr std::uint32_t steps_category = 7;
constexpr std::uint32_t green = 0xFF00A000;

__global__ void step_kernel(int* counter) { atomicAdd(counter, 1); }

nvtxEventAttributes_t message(const char* text) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

int work(int thread, int steps, nvtxDomainHandle_t domain, nvtxStringHandle_t launch,
         nvtxRangeId_t handed_over, int* counter) {
  nvtxRangeEnd(handed_over);
  nvtxEventAttributes_t outer = message("thread");
  outer.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  outer.payload.llValue = thread;
  nvtxRangePushEx(&outer);
  nvtxMarkA("ready");
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int step = 0; step < steps; ++step) {
    nvtxEventAttributes_t middle = message("step");
    middle.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    middle.payload.dValue = step + 0.5;
    middle.colorType = NVTX_COLOR_ARGB;
    middle.color = green;
    middle.category = steps_category;
    nvtxDomainRangePushEx(domain, &middle);

    nvtxEventAttributes_t inner = message(nullptr);
    inner.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    inner.message.registered = launch;
    inner.category = steps_category;
    nvtxDomainRangePushEx(domain, &inner);
    step_kernel<<<1, 1, 0, stream>>>(counter);
    CHECK(cudaGetLastError());
    nvtxDomainRangePop(domain);

    CHECK(cudaStreamSynchronize(stream));
    nvtxDomainRangePop(domain);
  }
  CHECK(cudaStreamDestroy(stream));
  nvtxRangePop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 4;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 3;

  const nvtxRangeId_t everything = nvtxRangeStartA("everything");
  nvtxDomainHandle_t domain = nvtxDomainCreateA("example.steps");
  nvtxDomainNameCategoryA(domain, steps_category, "steps");
  nvtxStringHandle_t launch = nvtxDomainRegisterStringA(domain, "launch");

  int* counter;
  CHECK(cudaMalloc(&counter, sizeof(int)));
  CHECK(cudaMemset(counter, 0, sizeof(int)));

  std::atomic<int> failures{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    const nvtxRangeId_t handed_over = nvtxRangeStartA(("hand over " + std::to_string(t)).c_str());
    workers.emplace_back(
        [&, t, handed_over] { failures += work(t, steps, domain, launch, handed_over, counter); });
  }
  for (std::thread& worker : workers) worker.join();

  int launched = 0;
  CHECK(cudaMemcpy(&launched, counter, sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(counter));
  nvtxRangeEnd(everything);
  const bool right = failures == 0 && launched == threads * steps;
  std::puts(right ? "ok" : "wrong count");
  return right ? 0 : 1;
}
