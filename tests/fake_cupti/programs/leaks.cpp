// leaks HOW [N]: 4096 bytes, a kernel, then N times 1024 that are never released and N times
// 1024 that are, and ends in the way that HOW says.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "return";
  const int n = argc > 2 ? std::atoi(argv[2]) : 3;
  fake_malloc(4096);
  fake_launch("_Z4workPf", 1);
  fake_synchronize();
  for (int i = 0; i < n; ++i) {
    const std::uint64_t released = fake_malloc(512);
    fake_malloc(1024);
    fake_free(released);
  }
  if (how == "sigkill") raise(SIGKILL);
  if (how == "_exit") _exit(0);
  return 0;
}
