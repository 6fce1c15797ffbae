// nvcc-options: -rdc=true -lcudadevrt
//
// A CUDA graph that a kernel launches from inside another graph.
//
//   device_graph [launches]
//
// Each launch of the outer graph runs a kernel that launches the inner one, fire and forget. Prints
// "ok" and exits with 0 if both ran the expected number of times. Default: 3 launches.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

__global__ void inner_kernel(int* counter) { atomicAdd(counter, 1); }

__global__ void launch_inner(cudaGraphExec_t inner, int* counter) {
  atomicAdd(counter, 1);
  cudaGraphLaunch(inner, cudaStreamGraphFireAndForget);
}

namespace {

// One kernel of one thread.
cudaError_t add_kernel(cudaGraph_t graph, const void* function, void** arguments) {
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(function);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNode_t node;
  return cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel);
}

}  // namespace

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 3;
  int* counter;
  CHECK(cudaMalloc(&counter, sizeof *counter));
  CHECK(cudaMemset(counter, 0, sizeof *counter));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  cudaGraph_t inner, outer;
  cudaGraphExec_t inner_executable, outer_executable;
  CHECK(cudaGraphCreate(&inner, 0));
  void* inner_arguments[] = {&counter};
  CHECK(add_kernel(inner, reinterpret_cast<void*>(inner_kernel), inner_arguments));
  CHECK(cudaGraphInstantiate(&inner_executable, inner, cudaGraphInstantiateFlagDeviceLaunch));
  CHECK(cudaGraphUpload(inner_executable, stream));

  CHECK(cudaGraphCreate(&outer, 0));
  void* outer_arguments[] = {&inner_executable, &counter};
  CHECK(add_kernel(outer, reinterpret_cast<void*>(launch_inner), outer_arguments));
  CHECK(cudaGraphInstantiate(&outer_executable, outer, cudaGraphInstantiateFlagDeviceLaunch));
  CHECK(cudaGraphUpload(outer_executable, stream));

  for (int i = 0; i < launches; ++i) {
    CHECK(cudaGraphLaunch(outer_executable, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
  int counted = 0;
  CHECK(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
  const bool right = counted == 2 * launches;
  std::printf("%s\n", right ? "ok" : "wrong");
  return right ? 0 : 1;
}
