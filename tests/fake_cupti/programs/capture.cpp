// capture [N]: N times 3 kernels, a stream capture of 2 launches, the graph of these, and one more.
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 3;
  for (int i = 0; i < n; ++i) {
    fake_launch("eager", 3);
    fake_capture_begin();
    fake_launch("captured", 2);
    fake_capture_end();
    fake_graph_launch("captured", 2);
    fake_launch("eager", 1);
  }
  fake_synchronize();
  return 0;
}
