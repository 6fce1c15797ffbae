// Launches kernels and dies in the requested way while some of them have yet to run.
//
//   die return|exit|_exit|quick_exit|reset|exec|abort|segv|kill [kernels] [busy ms] [pause ms]
//
// Runs finished_work KERNELS times and waits; then pauses for PAUSE; then, if BUSY is not 0, runs
// keep_busy for that long; then launches unfinished_work KERNELS times without waiting. Defaults:
// 50 kernels, 0 ms, 0 ms. Exit statuses: return 0, exit 3, _exit 4, quick_exit 5, reset
// (cudaDeviceReset, then return) 0, exec (of /bin/true) 0; abort, segv and kill end it by their
// signals.
#include <cuda_runtime.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/check.hpp"

__global__ void finished_work(int* counter) { atomicAdd(counter, 1); }
__global__ void unfinished_work(int* counter) { atomicAdd(counter, 1); }

__global__ void keep_busy(long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "return";
  const int kernels = argc > 2 ? std::atoi(argv[2]) : 50;
  const int busy = argc > 3 ? std::atoi(argv[3]) : 0;
  const int pause = argc > 4 ? std::atoi(argv[4]) : 0;

  int* counter;
  CHECK(cudaMalloc(&counter, sizeof(int)));
  // Load all kernels before the first runs: loading one later may wait for earlier ones.
  cudaFuncAttributes unused;
  CHECK(cudaFuncGetAttributes(&unused, finished_work));
  CHECK(cudaFuncGetAttributes(&unused, unfinished_work));
  CHECK(cudaFuncGetAttributes(&unused, keep_busy));

  for (int i = 0; i < kernels; ++i) finished_work<<<1, 1>>>(counter);
  CHECK(cudaDeviceSynchronize());
  usleep(pause * 1000);
  if (busy > 0) keep_busy<<<1, 1>>>(busy * 1'000'000LL);
  for (int i = 0; i < kernels; ++i) unfinished_work<<<1, 1>>>(counter);
  CHECK(cudaGetLastError());

  std::printf("%s after %d kernels\n", how.c_str(), 2 * kernels + (busy > 0));
  std::fflush(stdout);
  if (how == "return") return 0;
  if (how == "exit") std::exit(3);
  if (how == "_exit") _exit(4);
  if (how == "quick_exit") std::quick_exit(5);
  if (how == "reset") return cudaDeviceReset();
  if (how == "exec") execl("/bin/true", "true", nullptr);
  if (how == "abort") std::abort();
  if (how == "segv") *static_cast<volatile int*>(nullptr) = 1;
  if (how == "kill") kill(getpid(), SIGKILL);
  std::fprintf(stderr, "die: no way to die is called %s\n", how.c_str());
  return 2;
}
