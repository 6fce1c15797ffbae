// Host functions run by a stream and by a CUDA graph between their kernels.
//
//   host_functions [rounds]
//
// Each round: a kernel, a host function (cudaLaunchHostFunc) and a graph of a kernel and a host
// function. Prints "ok" and exits with 0 if each ran the expected number of times. Default: 3
// rounds.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

namespace {

std::atomic<int> in_stream{0};
std::atomic<int> in_graph{0};

__global__ void count_up(int* counter) { atomicAdd(counter, 1); }

void CUDART_CB count_call(void* counter) { static_cast<std::atomic<int>*>(counter)->fetch_add(1); }

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  int* counter;
  CHECK(cudaMalloc(&counter, sizeof *counter));
  CHECK(cudaMemset(counter, 0, sizeof *counter));

  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  void* arguments[] = {&counter};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(count_up);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNode_t kernel_node, host_node;
  CHECK(cudaGraphAddKernelNode(&kernel_node, graph, nullptr, 0, &kernel));
  cudaHostNodeParams host{};
  host.fn = count_call;
  host.userData = &in_graph;
  CHECK(cudaGraphAddHostNode(&host_node, graph, &kernel_node, 1, &host));
  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));

  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 0; round < rounds; ++round) {
    count_up<<<1, 1, 0, stream>>>(counter);
    CHECK(cudaLaunchHostFunc(stream, count_call, &in_stream));
    CHECK(cudaGraphLaunch(executable, stream));
  }
  CHECK(cudaStreamSynchronize(stream));

  int counted = 0;
  CHECK(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
  const bool right = counted == 2 * rounds && in_stream == rounds && in_graph == rounds;
  std::printf("%s\n", right ? "ok" : "wrong");
  return right ? 0 : 1;
}
