// cooperative [N]: N times an ordinary kernel, two cooperative ones (runtime and driver) and one
// that is called like NCCL's.
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 3;
  for (int i = 0; i < n; ++i) {
    fake_launch_shape(LaunchBy::runtime, "ordinary", {.grid = {1, 1, 1}});
    fake_launch_shape(LaunchBy::runtime_cooperative, "grid_sync", {.grid = {2, 1, 1}});
    fake_launch_shape(LaunchBy::driver_cooperative, "grid_sync", {.grid = {3, 1, 1}});
    fake_launch_shape(
        LaunchBy::driver_ex,
        "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
        {.grid = {4, 1, 1}});
  }
  fake_synchronize();
  return 0;
}
