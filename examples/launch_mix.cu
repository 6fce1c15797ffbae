// Launches kernels of a chosen length: from a program that is bound by its launches to one that is
// bound by the GPU.
//
//   launch_mix [kernel_us] [launches_between_waits] [ranges] [launches]
//
// ranges: 1 = an NVTX range around each launch. Prints the nanoseconds per launch as seen by the
// host, waits included. Exits with 0. Defaults: 0, 1000, 0, 100000.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

__global__ void work(unsigned long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const double kernel_us = argc > 1 ? std::atof(argv[1]) : 0;
  const int between_waits = argc > 2 ? std::atoi(argv[2]) : 1000;
  const bool ranges = argc > 3 && std::atoi(argv[3]) != 0;
  const int launches = argc > 4 ? std::atoi(argv[4]) : 100000;
  const auto ns = static_cast<unsigned long long>(kernel_us * 1000);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  const auto launch = [&](int count) -> int {
    for (int i = 1; i <= count; ++i) {
      if (ranges) nvtxRangePushA("launch");
      work<<<1, 32, 0, stream>>>(ns);
      if (ranges) nvtxRangePop();
      if (i % between_waits == 0) CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    return 0;
  };
  if (launch(1000) != 0) return 1;  // lazy loading and first buffers
  const auto begin = Clock::now();
  if (launch(launches) != 0) return 1;
  const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
  std::printf("%.1f ns per launch\n", time.count() / launches);
  return 0;
}
