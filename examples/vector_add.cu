// Adds two vectors on the GPU, with NVTX ranges around its steps.
//
//   vector_add [elements] [launches]
//
// Prints "ok" and exits with 0 if the sums are right. Copies in twice, launches, copies out once.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/check.hpp"

__global__ void vector_add(const float* a, const float* b, float* sum, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) sum[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 1;
  const std::size_t bytes = count * sizeof(float);
  std::vector<float> a(count), b(count), sum(count);
  for (int i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i % 1000);
    b[i] = 2.0f * a[i];
  }

  nvtxRangePushA("vector_add");
  float *device_a, *device_b, *device_sum;
  CHECK(cudaMalloc(&device_a, bytes));
  CHECK(cudaMalloc(&device_b, bytes));
  CHECK(cudaMalloc(&device_sum, bytes));

  nvtxRangePushA("copy in");
  CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
  nvtxRangePop();

  nvtxRangePushA("compute");
  const int threads = 256;
  for (int i = 0; i < launches; ++i) {
    vector_add<<<(count + threads - 1) / threads, threads>>>(device_a, device_b, device_sum, count);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  nvtxRangePop();

  nvtxMarkA("computed");
  nvtxRangePushA("copy out");
  CHECK(cudaMemcpy(sum.data(), device_sum, bytes, cudaMemcpyDeviceToHost));
  nvtxRangePop();
  CHECK(cudaFree(device_a));
  CHECK(cudaFree(device_b));
  CHECK(cudaFree(device_sum));
  nvtxRangePop();

  for (int i = 0; i < count; ++i) {
    if (sum[i] != 3.0f * a[i]) {
      std::fprintf(stderr, "sum[%d] is %g, not %g\n", i, sum[i], 3.0f * a[i]);
      return 1;
    }
  }
  std::puts("ok");
  return 0;
}
