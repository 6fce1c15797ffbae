// nvcc-options: -std=c++20
// Launches of random shapes, and how many blocks of each fit on a multiprocessor according to CUDA
// and gpuprof.
//
//   occupancy [launches] [seed]
//
// Prints a line per launch (threads per block, registers, static and dynamic shared memory,
// carveout or -1, blocks per multiprocessor) and exits with 0 if both always agree. Defaults: 200
// launches, seed 1.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "examples/check.hpp"
#include "libprof/compute/occupancy.cpp"

// Uses registers for each of the values that are live at the same time.
template <int live, int shared>
__global__ void work(float* out, int rounds) {
  extern __shared__ float dynamic[];
  __shared__ float fixed[shared];
  float values[live];
#pragma unroll
  for (int i = 0; i < live; ++i) values[i] = out[i] + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < live; ++i) values[i] = values[i] * values[(i + 1) % live] + round;
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < live; ++i) sum += values[i];
  fixed[threadIdx.x % shared] = sum;
  if (rounds < 0) dynamic[threadIdx.x] = sum;
  __syncthreads();
  if (rounds < 0) out[threadIdx.x] = fixed[0] + dynamic[0];
}

using Kernel = void (*)(float*, int);

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 200;
  std::mt19937 random(argc > 2 ? std::atoi(argv[2]) : 1);
  const auto number = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  const Kernel kernels[] = {work<1, 1>,      work<8, 1>,      work<16, 64>,   work<24, 1000>,
                            work<32, 1>,     work<48, 256>,   work<64, 4000>, work<96, 1>,
                            work<128, 1000>, work<160, 8000>, work<200, 1>};
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  const gpuprof::compute::DeviceLimits limits{
      .compute_major = device.major,
      .compute_minor = device.minor,
      .multiprocessors = device.multiProcessorCount,
      .warps = device.maxThreadsPerMultiProcessor / device.warpSize,
      .blocks = device.maxBlocksPerMultiProcessor,
      .registers = device.regsPerMultiprocessor,
      .shared_memory = static_cast<std::int64_t>(device.sharedMemPerMultiprocessor),
      .registers_per_block = device.regsPerBlock,
      .reserved_shared_memory_per_block =
          static_cast<std::int64_t>(device.reservedSharedMemPerBlock)};
  float* memory;
  CHECK(cudaMalloc(&memory, 1 << 20));
  CHECK(cudaMemset(memory, 0, 1 << 20));

  int wrong = 0;
  for (int launch = 0; launch < launches;) {
    const Kernel kernel = kernels[number(0, static_cast<int>(std::size(kernels)) - 1)];
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, kernel));
    const int fixed = static_cast<int>(attributes.sharedSizeBytes);
    const int most = static_cast<int>(device.sharedMemPerBlockOptin) - fixed;
    const int dynamic = number(0, 2) ? number(0, std::min(most, number(0, 1) ? 4096 : most)) : 0;
    const int threads = number(0, 3) ? 32 * number(1, attributes.maxThreadsPerBlock / 32)
                                     : number(1, attributes.maxThreadsPerBlock);
    const int carveout = number(0, 1) ? -1 : 25 * number(0, 4);
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic));
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout));
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads,
                                                        static_cast<std::size_t>(dynamic)));
    if (blocks == 0) continue;
    ++launch;
    gpuprof::compute::LaunchShape shape{.blocks = 1,
                                        .threads_per_block = threads,
                                        .registers_per_thread = attributes.numRegs,
                                        .shared_memory_per_block = fixed + dynamic};
    if (carveout >= 0) shape.carveout = carveout;
    const auto ours = gpuprof::compute::occupancy(limits, shape);
    const long long computed = ours ? ours->blocks_per_multiprocessor : 0;
    std::printf("%d %d %d %d %d %d\n", threads, attributes.numRegs, fixed, dynamic, carveout,
                blocks);
    if (computed != blocks) {
      std::fprintf(stderr, "occupancy: launch %d: %lld computed, CUDA says %d\n", launch, computed,
                   blocks);
      ++wrong;
    }
    kernel<<<number(1, 100), threads, static_cast<std::size_t>(dynamic)>>>(memory, 1);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
  return wrong ? 1 : 0;
}
