// windows [runtime]: 5 launches outside, then twice 7 inside cuProfilerStart and Stop, 5 after
// each.
#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char**) {
  fake_launch("outside", 5);
  for (int window = 0; window < 2; ++window) {
    argc > 1 ? fake_profiler_start() : fake_driver_profiler_start();
    fake_launch("inside", 7);
    argc > 1 ? fake_profiler_stop() : fake_driver_profiler_stop();
    fake_launch("outside", 5);
  }
  return 0;
}
