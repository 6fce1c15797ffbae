// asks [N] [windows]: N times what PyTorch asks around a launch, with the launch; N outside and N
// inside cudaProfilerStart and Stop, twice over, with `windows`.
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

void step(int n, const char* kernel) {
  for (int i = 0; i < n; ++i) {
    fake_ask();
    fake_launch(kernel, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 10;
  step(n, "outside");
  for (int window = 0; argc > 2 && window < 2; ++window) {
    fake_profiler_start();
    step(n, "inside");
    fake_profiler_stop();
    step(n, "outside");
  }
  return 0;
}
