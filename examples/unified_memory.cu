// Managed memory written alternately by host and GPU, so that its pages move back and forth.
//
//   unified_memory [rounds]
//
// Prints "ok" and exits with 0 if the sums are right. Default: 2 rounds over 2 MiB, with one kernel
// each.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

__global__ void increment(int* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += 1;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 2;
  const int count = 512 * 1024;

  int* values;
  CHECK(cudaMallocManaged(&values, count * sizeof(int)));
  for (int i = 0; i < count; ++i) values[i] = i;
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) values[i] += 1;
    increment<<<(count + 255) / 256, 256>>>(values, count);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }
  bool right = true;
  for (int i = 0; i < count; ++i) right &= values[i] == i + 2 * rounds;
  CHECK(cudaFree(values));
  std::puts(right ? "ok" : "wrong sums");
  return right ? 0 : 1;
}
