// graphs [N [NODES]]: N times an eager kernel and a graph of NODES kernels, all inside
// cudaProfilerStart and Stop.
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 5;
  const int nodes = argc > 2 ? std::atoi(argv[2]) : 3;
  fake_profiler_start();
  for (int i = 0; i < n; ++i) {
    fake_launch_shape(LaunchBy::runtime, "eager",
                      {.grid = {static_cast<std::uint32_t>(i) + 1, 1, 1}});
    fake_graph_launch("node", nodes);
  }
  fake_synchronize();
  fake_profiler_stop();
  return 0;
}
