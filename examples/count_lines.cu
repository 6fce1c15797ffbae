// Kernels whose work per line can be counted by hand, as a reference for SASS metrics.
//
//   count_lines [launches]
//
// Prints a line for each comment "counts: NAME" below, whose line has one instruction that accesses
// memory or branches: NAME, how often warps execute it in all launches, and per execution: threads,
// 32-byte sectors of global memory, the same if the threads' addresses were contiguous, wavefronts
// of shared memory, the same without bank conflicts, whether threads diverge.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "check.hpp"

constexpr int warp = 32;
constexpr int block = 1024;
constexpr int blocks = 64;
constexpr int elements = block * blocks;
constexpr int rounds = 3;

__global__ void side_by_side(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[i];  // counts: load
  out[i] = value;             // counts: store
}

__global__ void far_apart(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[i * 8];  // counts: strided_load
  out[i] = value;                 // counts: store_again
}

// Each warp fills a column of the tile and reads a row of it.
__global__ void transposed(float* out) {
  __shared__ volatile float tile[warp][warp];
  const int row = threadIdx.x / warp, column = threadIdx.x % warp;
  tile[column][row] = threadIdx.x;  // counts: conflicting_store
  __syncthreads();
  const float value = tile[row][column];  // counts: shared_load
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// The odd threads of each warp do something that the others do not.
__global__ void divergent(int* out, int times) {
  int value = threadIdx.x;
  if (threadIdx.x % 2 == 1) {  // counts: divergent_branch
#pragma unroll 1
    do value = atomicXor(&out[value % elements], times);
    while (--times > 0);  // counts: divergent_loop
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// Odd warps do something that the others do not.
__global__ void convergent(int* out, int times) {
  int value = threadIdx.x;
  if (threadIdx.x / warp % 2 == 1) {  // counts: uniform_branch
#pragma unroll 1
    do value = atomicXor(&out[value % elements], times);
    while (--times > 0);  // counts: uniform_loop
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

void print(const char* name, int executed, int threads, int sectors, int ideal_sectors,
           int wavefronts, int ideal_wavefronts, int diverged) {
  std::printf("%s %d %d %d %d %d %d %d\n", name, executed, threads, sectors, ideal_sectors,
              wavefronts, ideal_wavefronts, diverged);
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 3;
  float* in;
  float* out;
  int* numbers;
  CHECK(cudaMalloc(&in, 8 * elements * sizeof(float)));
  CHECK(cudaMalloc(&out, elements * sizeof(float)));
  CHECK(cudaMalloc(&numbers, elements * sizeof(int)));
  CHECK(cudaMemset(in, 0, 8 * elements * sizeof(float)));
  CHECK(cudaMemset(numbers, 0, elements * sizeof(int)));
  for (int i = 0; i < launches; ++i) {
    side_by_side<<<blocks, block>>>(in, out);
    far_apart<<<blocks, block>>>(in, out);
    transposed<<<blocks, block>>>(out);
    divergent<<<blocks, block>>>(numbers, rounds);
    convergent<<<blocks, block>>>(numbers, rounds);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  const int warps = launches * elements / warp;
  print("load", warps, 32, 4, 4, 0, 0, 0);
  print("store", warps, 32, 4, 4, 0, 0, 0);
  print("strided_load", warps, 32, 32, 4, 0, 0, 0);
  print("store_again", warps, 32, 4, 4, 0, 0, 0);
  print("conflicting_store", warps, 32, 0, 0, 32, 1, 0);
  print("shared_load", warps, 32, 0, 0, 1, 1, 0);
  print("divergent_branch", warps, 32, 0, 0, 0, 0, 1);
  print("divergent_loop", warps * rounds, 16, 0, 0, 0, 0, 0);
  print("uniform_branch", warps, 32, 0, 0, 0, 0, 0);
  print("uniform_loop", warps / 2 * rounds, 32, 0, 0, 0, 0, 0);
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFree(numbers));
  return 0;
}
