// burst [N [THREADS]]: launches as fast as it can.
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const int count = argc > 2 ? std::atoi(argv[2]) : 1;
  fake_kernel_time(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([n] { fake_launch("burst", n); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}
