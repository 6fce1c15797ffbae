// Two kernels, each with one line at which its warps wait, for PC sampling to find.
//
//   slow_lines [seconds]
//
// In `strided` each thread of a warp reads a separate sector: its warps wait for the line "slow:
// strided load" (long_scoreboard). In `unbalanced` one warp of a block works while the others wait
// for it at the line "slow: barrier" (barrier); a waiting warp is sampled at the instruction that
// it would issue next, which is on the following line.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "check.hpp"

constexpr int elements = 1 << 26;
constexpr int block = 256;
constexpr int stride = 1031;

__global__ void strided(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < 32; ++k) {
    sum += in[(i * stride + k * 7919) % elements];  // slow: strided load
  }
  out[i % elements] = sum;
}

__global__ void unbalanced(float* out, int rounds) {
  __shared__ float shared[block];
  float value = threadIdx.x;
  for (int round = 0; round < 8; ++round) {
    if (threadIdx.x < 32) {
      for (int k = 0; k < rounds; ++k) value = value * 1.0001f + 0.5f;
    }
    shared[threadIdx.x] = value;
    __syncthreads();  // slow: barrier
    value += shared[(threadIdx.x + 1) % block];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  float *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, elements * sizeof(float)));
  CHECK(cudaMalloc(&out, elements * sizeof(float)));
  CHECK(cudaMemset(in, 0, elements * sizeof(float)));
  const auto begin = std::chrono::steady_clock::now();
  int launches = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <
         seconds) {
    strided<<<4096, block>>>(in, out);
    unbalanced<<<4096, block>>>(out, 400);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    launches += 2;
  }
  std::printf("%d launches\n", launches);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  return 0;
}
