// Forks after using CUDA. The child makes no CUDA calls and exits normally; the parent continues.
//
//   fork [kernels]
//
// Prints "ok" and exits with 0. Runs KERNELS kernels (default 10) before the fork and again after
// it.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

__global__ void before_fork() {}
__global__ void after_fork() {}

int main(int argc, char** argv) {
  const int kernels = argc > 1 ? std::atoi(argv[1]) : 10;

  for (int i = 0; i < kernels; ++i) before_fork<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  const pid_t child = fork();
  if (child == 0) return 7;  // runs all exit handlers, including those of CUDA and of a profiler
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
    std::fprintf(stderr, "the child ended with status %d\n", status);
    return 1;
  }
  for (int i = 0; i < kernels; ++i) after_fork<<<1, 1>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::puts("ok");
  return 0;
}
