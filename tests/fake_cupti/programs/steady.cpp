// steady SECONDS [PER_MS [FILE]]: launches evenly for so long, or until FILE is there, then ends
// with 5.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const int per_ms = argc > 2 ? std::atoi(argv[2]) : 5;
  const char* end = argc > 3 ? argv[3] : "";
  fake_launch("steady", per_ms);
  std::puts("launching");
  std::fflush(stdout);
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double until = now() + seconds;
  long launches = per_ms;
  while (now() < until && access(end, F_OK) != 0) {
    usleep(1000);
    fake_launch("steady", per_ms);
    launches += per_ms;
  }
  std::printf("%ld\n", launches);
  return 5;
}
