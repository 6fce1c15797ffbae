// Marks the parts to profile with cudaProfilerStart and cudaProfilerStop.
//
//   gpuprof --profile-from-start off ./profiler_api
//
// Prints "ok" and exits with 0. Launches outside_part 3 times, inside_part 5, outside_part 7,
// inside_part 2 and outside_part 4 times; inside_part between start and stop, without waiting.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <cstdio>

#include "examples/check.hpp"

__global__ void outside_part() {}
__global__ void inside_part() {}

int main() {
  for (int i = 0; i < 3; ++i) outside_part<<<1, 1>>>();
  CHECK(cudaProfilerStart());
  for (int i = 0; i < 5; ++i) inside_part<<<1, 1>>>();
  CHECK(cudaProfilerStop());
  for (int i = 0; i < 7; ++i) outside_part<<<1, 1>>>();
  CHECK(cudaProfilerStart());
  for (int i = 0; i < 2; ++i) inside_part<<<1, 1>>>();
  CHECK(cudaProfilerStop());
  for (int i = 0; i < 4; ++i) outside_part<<<1, 1>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::puts("ok");
  return 0;
}
