// short_lived MICROSECONDS THREADS: launches from THREADS threads and kills itself after that time.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const auto lifetime = static_cast<useconds_t>(argc > 1 ? std::atoi(argv[1]) : 10'000);
  const int count = argc > 2 ? std::atoi(argv[2]) : 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([i] {
      while (true) fake_launch(i % 2 ? "odd" : "even", 1);
    });
  }
  usleep(lifetime);
  raise(SIGKILL);
}
