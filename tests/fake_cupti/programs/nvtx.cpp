// nvtx before|after|only [N]: N nested pairs of ranges and N marks, before the first CUDA call,
// after it, or without any.
#include <cstdlib>
#include <string_view>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const std::string_view when = argc > 1 ? argv[1] : "before";
  const int n = argc > 2 ? std::atoi(argv[2]) : 10;
  if (when == "after") fake_launch("annotated", 1);
  for (int i = 0; i < n; ++i) {
    fake_nvtx_push("outer");
    fake_nvtx_push("inner");
    fake_nvtx_mark("here");
    if (when != "only") fake_launch("annotated", 1);
    fake_nvtx_pop();
    fake_nvtx_pop();
  }
  return 0;
}
