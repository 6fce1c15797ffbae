// What NVTX costs: each thread pushes and pops ranges of the default domain, one at a time.
//
//   nvtx_pairs [threads] [pairs]
//
// Prints the time of a pair, in ns: the mean over the threads, which run at the same time. Exits
// with 0. Defaults: 8 threads, 20000 pairs in each.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "examples/check.hpp"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const int count = argc > 1 ? std::atoi(argv[1]) : 8;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 20000;
  CHECK(cudaFree(nullptr));

  std::atomic<int> waiting{count};
  std::vector<double> ns(count);
  std::vector<std::thread> threads;
  for (double& of_thread : ns) {
    threads.emplace_back([&] {
      // What a thread does only once.
      nvtxRangePushA("first");
      nvtxRangePop();
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      const auto begin = Clock::now();
      for (int i = 0; i < pairs; ++i) {
        nvtxRangePushA("pair");
        nvtxRangePop();
      }
      of_thread = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / pairs;
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double of_thread : ns) sum += of_thread;
  std::printf("%.1f\n", sum / count);
  return 0;
}
