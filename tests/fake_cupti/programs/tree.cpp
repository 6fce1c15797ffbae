// tree DEPTH N: N kernels named by depth, and two children of less depth, by fork and exec, as a
// Python program with workers does.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int depth = argc > 1 ? std::atoi(argv[1]) : 2;
  const int n = argc > 2 ? std::atoi(argv[2]) : 10;
  const std::string name = "depth_" + std::to_string(depth);
  fake_launch(name.c_str(), n);
  for (int i = 0; i < 2 && depth > 0; ++i) {
    if (fork() == 0) {
      execl("/proc/self/exe", argv[0], std::to_string(depth - 1).c_str(), std::to_string(n).c_str(),
            nullptr);
      _exit(127);
    }
  }
  fake_launch(name.c_str(), n);
  int status = 0;
  bool all_well = true;
  while (wait(&status) > 0) all_well &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return all_well ? 0 : 3;
}
