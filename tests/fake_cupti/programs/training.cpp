// training [STEPS]: steps of 40 launches of 12 shapes, 1 ms apart. Shape i is a kernel of its own
// with i + 1 blocks; the first four come four times in a step, the others three times. Prints how
// long the steps took, ms.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  fake_init();
  const double start = now_ms();
  for (int step = 0; step < steps; ++step) {
    for (std::uint32_t i = 0; i < 40; ++i) {
      const std::uint32_t shape = i % 12;
      fake_launch_shape(LaunchBy::runtime, ("layer_" + std::to_string(shape)).c_str(),
                        {.grid = {shape + 1, 1, 1}});
    }
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  std::printf("%.3f\n", now_ms() - start);
  fake_synchronize();
  return 0;
}
