// threads [THREADS [N]]: each launches N kernels of its own name, and ends.
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 8;
  const int n = argc > 2 ? std::atoi(argv[2]) : 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([i, n] {
      const std::string name = "thread_kernel_" + std::to_string(i);
      for (int done = 0; done < n; done += 10) {
        fake_launch(name.c_str(), 10);
        fake_nvtx_push("step");
        fake_nvtx_pop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
