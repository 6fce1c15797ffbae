// marked STEPS: each step, from 1, is a range of NVTX "step N" with three launches of "in_N", with
// a range "part" around the second. Between steps are launches of "between".
#include <cstdlib>
#include <string>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int step = 1; step <= steps; ++step) {
    const std::string number = std::to_string(step);
    const std::string kernel = "in_" + number;
    fake_nvtx_push(("step " + number).c_str());
    fake_launch(kernel.c_str(), 1);
    fake_nvtx_push("part");
    fake_launch(kernel.c_str(), 1);
    fake_nvtx_pop();
    fake_launch(kernel.c_str(), 1);
    fake_nvtx_pop();
    fake_launch("between", 1);
  }
  return 0;
}
