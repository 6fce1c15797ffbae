// Kernels whose work can be counted by hand, as a reference for metrics.
//
//   known_counts [rounds]
//
// Prints one line per kernel: name, blocks, warps, floating-point operations, and bytes that it
// must read from and write to device memory, per launch.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "check.hpp"

constexpr int elements = 1 << 26;  // of vectors, 256 MiB each: more than an L2 cache holds
constexpr int block = 256;
constexpr int side = 1024;  // of matrices
constexpr int tile = 16;

__global__ void copy(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

__global__ void saxpy(float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = a * x[i] + y[i];
}

__global__ void matmul(const float* a, const float* b, float* c) {
  __shared__ float left[tile][tile];
  __shared__ float right[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < side; k += tile) {
    left[threadIdx.y][threadIdx.x] = a[row * side + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * side + column];
    __syncthreads();
    for (int i = 0; i < tile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * side + column] = sum;
}

__global__ void reduction(const float* in, float* out) {
  __shared__ float partial[block];
  partial[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int half = block / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

__global__ void atomics(int* counters) {
  atomicAdd(&counters[(blockIdx.x * blockDim.x + threadIdx.x) % 1024], 1);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  float* x;
  float* y;
  int* counters;
  CHECK(cudaMalloc(&x, elements * sizeof(float)));
  CHECK(cudaMalloc(&y, elements * sizeof(float)));
  CHECK(cudaMalloc(&counters, 1024 * sizeof(int)));
  CHECK(cudaMemset(x, 0, elements * sizeof(float)));
  CHECK(cudaMemset(y, 0, elements * sizeof(float)));
  CHECK(cudaMemset(counters, 0, 1024 * sizeof(int)));
  const int blocks = elements / block;
  const dim3 grid(side / tile, side / tile);
  const dim3 square(tile, tile);
  for (int i = 0; i < rounds; ++i) {
    copy<<<blocks, block>>>(x, y);
    saxpy<<<blocks, block>>>(2.0f, x, y);
    matmul<<<grid, square>>>(x, x + side * side, y);
    reduction<<<blocks, block>>>(x, y);
    atomics<<<4096, block>>>(counters);
  }
  CHECK(cudaDeviceSynchronize());

  const long long bytes = 4LL * elements;
  const long long matrix = 4LL * side * side;
  const long long warps = elements / 32;
  std::printf("copy %d %lld 0 %lld %lld\n", blocks, warps, bytes, bytes);
  std::printf("saxpy %d %lld %lld %lld %lld\n", blocks, warps, 2LL * elements, 2 * bytes, bytes);
  std::printf("matmul %d %d %lld %lld %lld\n", grid.x * grid.y, grid.x * grid.y * block / 32,
              2LL * side * side * side, 2 * matrix, matrix);
  std::printf("reduction %d %lld %lld %lld %lld\n", blocks, warps,
              static_cast<long long>(blocks) * (block - 1), bytes, bytes / block);
  std::printf("atomics 4096 %d 0 0 0\n", 4096 * block / 32);
}
