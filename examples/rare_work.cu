// Kinds of work whose records few programs cause.
//
//   rare_work [rounds]
//
// Each round: an allocation from a memory pool of its own, a copy between two contexts (of two
// GPUs, if there are two), and a graph whose nodes record a CUDA event, wait for it, call the host
// and launch a kernel. The stream and the device have names, given through NVTX. At the end the
// device is asked to decompress a text, which Blackwell has an engine for. Prints what the driver
// answers to that, then "ok", and exits with 0 if the counts are right, and the text if there is
// one. Default: 2 rounds.
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "examples/check.hpp"
#include "examples/driver.hpp"

namespace {

__global__ void count_up(int* counter) { atomicAdd(counter, 1); }

void CUDART_CB count_call(void* counter) { static_cast<std::atomic<int>*>(counter)->fetch_add(1); }

// From a pool that is made and destroyed for it.
int use_pool(cudaStream_t stream) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  void* memory;
  CHECK(cudaMallocFromPoolAsync(&memory, 1 << 20, pool, stream));
  CHECK(cudaFreeAsync(memory, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolDestroy(pool));
  return 0;
}

// From the current context to a second one, on the last device.
int copy_between_contexts() {
  auto* current = find<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent", 4000);
  auto* create = find<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate", 3020);
  auto* destroy = find<decltype(cuCtxDestroy)>("cuCtxDestroy", 4000);
  auto* make_current = find<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent", 4000);
  auto* enable_peer = find<decltype(cuCtxEnablePeerAccess)>("cuCtxEnablePeerAccess", 4000);
  auto* allocate = find<decltype(cuMemAlloc)>("cuMemAlloc", 3020);
  auto* copy = find<decltype(cuMemcpyPeer)>("cuMemcpyPeer", 4000);
  constexpr std::size_t bytes = 64 * 1024;
  CUcontext here, there;
  CUdeviceptr from, to;
  int devices;
  CHECK(cudaGetDeviceCount(&devices));
  DRIVER(current(&here));
  DRIVER(allocate(&from, bytes));
  DRIVER(create(&there, 0, devices - 1));
  DRIVER(allocate(&to, bytes));
  DRIVER(make_current(here));
  // Refused on one GPU, where the copy needs none. On two the host would be on the way.
  (void)enable_peer(there, 0);
  DRIVER(copy(to, there, from, here, bytes));
  DRIVER(destroy(there));
  CHECK(cudaFree(reinterpret_cast<void*>(from)));
  return 0;
}

// Of a block that Deflate has stored as it is. Without an engine the driver refuses.
int decompress(cudaStream_t stream) {
  auto* attribute = find<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute", 2000);
  auto* submit =
      find<CUresult(CUmemDecompressParams*, std::size_t, unsigned, std::size_t*, CUstream)>(
          "cuMemBatchDecompressAsync", 12060);
  int algorithms = 0;
  DRIVER(attribute(&algorithms, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0));
  constexpr unsigned char stored[] = {1, 4, 0, 0xfb, 0xff, 't', 'e', 'x', 't'};
  constexpr std::size_t most = 64;
  unsigned char* memory;  // the block, the text, and its length
  CHECK(cudaMalloc(&memory, 3 * most));
  CHECK(cudaMemset(memory, 0, 3 * most));
  CHECK(cudaMemcpy(memory, stored, sizeof stored, cudaMemcpyHostToDevice));
  CUmemDecompressParams params{};
  params.src = memory;
  params.srcNumBytes = sizeof stored;
  params.dst = memory + most;
  params.dstNumBytes = 4;
  params.dstActBytes = reinterpret_cast<cuuint32_t*>(memory + 2 * most);
  params.algo = CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE;
  const CUresult answer = submit(&params, 1, 0, nullptr, stream);
  std::printf("decompression: algorithms %d, CUresult %d\n", algorithms, static_cast<int>(answer));
  if (answer != CUDA_SUCCESS) return algorithms & CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE ? 1 : 0;
  CHECK(cudaStreamSynchronize(stream));
  char text[4];
  CHECK(cudaMemcpy(text, memory + most, sizeof text, cudaMemcpyDeviceToHost));
  return std::memcmp(text, "text", sizeof text) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 2;
  int* counter;
  CHECK(cudaMalloc(&counter, sizeof *counter));
  CHECK(cudaMemset(counter, 0, sizeof *counter));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  nvtxNameCudaDeviceA(0, "the device");
  nvtxNameCudaStreamA(stream, "the stream");
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));

  std::atomic<int> calls{0};
  void* arguments[] = {&counter};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(count_up);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaHostNodeParams host{};
  host.fn = count_call;
  host.userData = &calls;
  cudaGraph_t graph;
  cudaGraphNode_t records, waits, launches, asks;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddEventRecordNode(&records, graph, nullptr, 0, event));
  CHECK(cudaGraphAddEventWaitNode(&waits, graph, &records, 1, event));
  CHECK(cudaGraphAddKernelNode(&launches, graph, &waits, 1, &kernel));
  CHECK(cudaGraphAddHostNode(&asks, graph, &launches, 1, &host));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));

  for (int round = 0; round < rounds; ++round) {
    if (use_pool(stream) != 0 || copy_between_contexts() != 0) return 1;
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaLaunchHostFunc(stream, count_call, &calls));
    CHECK(cudaStreamSynchronize(stream));
  }

  int counted = 0;
  CHECK(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
  const bool right = counted == rounds && calls == 2 * rounds && decompress(stream) == 0;
  std::printf("%s\n", right ? "ok" : "wrong");
  return right ? 0 : 1;
}
