// Kernels launched in clusters of thread blocks.
//
//   clusters [launches] [blocks of a cluster]
//
// Prints "ok" and exits with 0 if all blocks ran. Defaults: 3 launches of 16 blocks, 4 per cluster.
// Clusters require a GPU of compute capability 9.0; on an older one the program says so and exits
// with 77.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

__global__ void count_blocks(int* blocks) {
  if (threadIdx.x == 0) atomicAdd(blocks, 1);
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 3;
  const int of_a_cluster = argc > 2 ? std::atoi(argv[2]) : 4;
  constexpr int blocks_of_a_launch = 16;
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  if (device.major < 9) {
    std::fprintf(stderr, "clusters: this GPU has none (compute capability %d.%d)\n", device.major,
                 device.minor);
    return 77;
  }
  int* blocks;
  CHECK(cudaMalloc(&blocks, sizeof *blocks));
  CHECK(cudaMemset(blocks, 0, sizeof *blocks));

  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(of_a_cluster), 1, 1};
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(blocks_of_a_launch);
  launch.blockDim = dim3(64);
  launch.attrs = &cluster;
  launch.numAttrs = 1;
  for (int i = 0; i < launches; ++i) CHECK(cudaLaunchKernelEx(&launch, count_blocks, blocks));

  int counted = 0;
  CHECK(cudaMemcpy(&counted, blocks, sizeof counted, cudaMemcpyDeviceToHost));
  const bool right = counted == launches * blocks_of_a_launch;
  std::printf("%s\n", right ? "ok" : "wrong");
  return right ? 0 : 1;
}
