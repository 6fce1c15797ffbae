// ranges [N]: N steps, each an NVTX range "step" with "forward" (3 kernels) and "backward" (2) in
// it, and one kernel outside. The first half of the steps is inside cudaProfilerStart and Stop;
// with another argument there is no Stop, and the last step does not end.
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4;
  const bool open = argc > 2;
  fake_profiler_start();
  for (int step = 0; step < n; ++step) {
    if (step == n / 2 && !open) fake_profiler_stop();
    fake_nvtx_push("step");
    fake_nvtx_push("forward");
    fake_launch("forward_kernel", 3);
    fake_nvtx_pop();
    fake_nvtx_push("backward");
    fake_launch("backward_kernel", 2);
    fake_nvtx_pop();
    if (open && step + 1 == n) break;
    fake_nvtx_pop();
    fake_launch("outside", 1);
  }
  fake_synchronize();
  return 0;
}
