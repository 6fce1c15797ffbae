// What NVTX costs: each thread pushes and pops ranges of the default domain, one at a time.
//
//   nvtx_pairs [threads] [pairs] [rounds]
//
// Prints the time of a pair, in ns, as a mean over the threads, which run at the same time: of the
// first round, and the median of the later ones. Between rounds it sleeps for 50 ms, so that a
// profiler can take away what it has recorded. Exits with 0. Defaults: 8 threads, 20000 pairs in
// each round, 1 round.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
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
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 1;
  CHECK(cudaFree(nullptr));

  std::atomic<int> waiting{0};
  std::vector<std::vector<double>> ns(rounds, std::vector<double>(count));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread) {
    threads.emplace_back([&, thread] {
      // What a thread does only once.
      nvtxRangePushA("first");
      nvtxRangePop();
      for (int round = 0; round < rounds; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ++waiting;
        while (waiting < (round + 1) * count) std::this_thread::yield();
        const auto begin = Clock::now();
        for (int i = 0; i < pairs; ++i) {
          nvtxRangePushA("pair");
          nvtxRangePop();
        }
        const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
        ns[round][thread] = time.count() / pairs;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<double> means;
  for (const std::vector<double>& round : ns) {
    double sum = 0;
    for (const double of_thread : round) sum += of_thread;
    means.push_back(sum / count);
  }
  std::printf("%.1f", means.front());
  if (rounds > 1) {
    std::sort(means.begin() + 1, means.end());
    std::printf(" %.1f", means[1 + (rounds - 1) / 2]);
  }
  std::printf("\n");
  return 0;
}
