// Phases that can be distinguished in counters over time: copies in device memory, matrix products
// on the tensor units, and idle time. For gpuprof --pm-sampling.
//
//   phases [rounds] [ms]
//
// Prints the number of bytes that a copy phase read and wrote and its duration, then "ok".
// Defaults: 10 rounds, phases of about 20 ms. Each phase is an NVTX range.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

constexpr std::size_t bytes = std::size_t{256} << 20;

// Multiplies a tile by itself in registers, without memory traffic.
__global__ void multiply(float* out, int times) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> sums[4];
  fill_fragment(a, __float2half(0.5f));
  fill_fragment(b, __float2half(0.25f));
  for (auto& sum : sums) fill_fragment(sum, 0.0f);
  for (int i = 0; i < times; ++i) {
    for (auto& sum : sums) mma_sync(sum, a, b, sum);
  }
  if (out) store_matrix_sync(out, sums[0], 16, mem_row_major);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  const float ms = argc > 2 ? static_cast<float>(std::atof(argv[2])) : 20.0f;
  char *from, *to;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  CHECK(cudaMemset(from, 1, bytes));
  cudaEvent_t before, behind;
  CHECK(cudaEventCreate(&before));
  CHECK(cudaEventCreate(&behind));
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  const int blocks = 4 * device.multiProcessorCount;

  // Measure how long one of each takes.
  float copy_ms = 0, multiply_ms = 0;
  constexpr int times = 1 << 14;
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaEventRecord(before));
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaEventRecord(behind));
    CHECK(cudaEventSynchronize(behind));
    CHECK(cudaEventElapsedTime(&copy_ms, before, behind));
    CHECK(cudaEventRecord(before));
    multiply<<<blocks, 256>>>(nullptr, times);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(behind));
    CHECK(cudaEventSynchronize(behind));
    CHECK(cudaEventElapsedTime(&multiply_ms, before, behind));
  }
  const int copies = std::max(1, static_cast<int>(ms / copy_ms));
  const int products = std::max(1, static_cast<int>(times * (ms / multiply_ms)));

  float all_ms = 0;
  for (int round = 0; round < rounds; ++round) {
    nvtxRangePushA("copy");
    CHECK(cudaEventRecord(before));
    for (int i = 0; i < copies; ++i) {
      CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
    }
    CHECK(cudaEventRecord(behind));
    CHECK(cudaEventSynchronize(behind));
    nvtxRangePop();
    float took = 0;
    CHECK(cudaEventElapsedTime(&took, before, behind));
    all_ms += took;
    nvtxRangePushA("multiply");
    multiply<<<blocks, 256>>>(nullptr, products);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    nvtxRangePop();
    nvtxRangePushA("idle");
    usleep(static_cast<useconds_t>(ms * 1000));
    nvtxRangePop();
  }
  const double moved = static_cast<double>(rounds) * copies * bytes;
  std::printf("copies: %.0f bytes read and as many written in %.3f ms: %.4g bytes/s each\n", moved,
              all_ms, moved / all_ms * 1e3);
  std::puts("ok");
  return 0;
}
