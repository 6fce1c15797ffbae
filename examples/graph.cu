// A CUDA graph of a copy in, a memory set, a chain of kernels and a copy out, launched repeatedly.
//
//   graph [launches] [kernels] [alone]
//
// Before each launch of the graph, the same kernel is launched ALONE times on its own; the graph
// overwrites its results. All launches are inside the NVTX range "launches". Prints "ok" and exits
// with 0 if every launch produced the right sums. Defaults: 5 launches, 10 kernels, 0 alone. The
// copies and the memory set are 64 KiB each.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/check.hpp"

__global__ void add_step(const float* step, float* sum, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) sum[i] += step[i];
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 5;
  const int kernels = argc > 2 ? std::atoi(argv[2]) : 10;
  const int alone = argc > 3 ? std::atoi(argv[3]) : 0;
  int count = 16 * 1024;
  const std::size_t bytes = count * sizeof(float);

  float *step, *sum;  // pinned
  float *device_step, *device_sum;
  CHECK(cudaMallocHost(&step, bytes));
  CHECK(cudaMallocHost(&sum, bytes));
  CHECK(cudaMalloc(&device_step, bytes));
  CHECK(cudaMalloc(&device_sum, bytes));

  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  std::vector<cudaGraphNode_t> first(2);
  CHECK(cudaGraphAddMemcpyNode1D(&first[0], graph, nullptr, 0, device_step, step, bytes,
                                 cudaMemcpyHostToDevice));
  cudaMemsetParams zeros{};
  zeros.dst = device_sum;
  zeros.elementSize = 4;
  zeros.width = count;
  zeros.height = 1;
  CHECK(cudaGraphAddMemsetNode(&first[1], graph, nullptr, 0, &zeros));

  std::vector<cudaGraphNode_t> before = first;
  for (int k = 0; k < kernels; ++k) {
    void* arguments[] = {&device_step, &device_sum, &count};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(add_step);
    kernel.gridDim = dim3((count + 255) / 256);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = arguments;
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &kernel));
    before = {node};
  }
  cudaGraphNode_t last;
  CHECK(cudaGraphAddMemcpyNode1D(&last, graph, before.data(), before.size(), sum, device_sum, bytes,
                                 cudaMemcpyDeviceToHost));

  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  bool right = true;
  nvtxRangePushA("launches");
  for (int launch = 0; launch < launches; ++launch) {
    for (int i = 0; i < count; ++i) step[i] = static_cast<float>(launch + i % 10);
    for (int i = 0; i < alone; ++i) {
      add_step<<<(count + 255) / 256, 256, 0, stream>>>(device_step, device_sum, count);
    }
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; ++i) right &= sum[i] == static_cast<float>(kernels) * step[i];
  }
  nvtxRangePop();

  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device_step));
  CHECK(cudaFree(device_sum));
  CHECK(cudaFreeHost(step));
  CHECK(cudaFreeHost(sum));
  std::puts(right ? "ok" : "wrong sums");
  return right ? 0 : 1;
}
