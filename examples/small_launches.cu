// Launches a nearly empty kernel many times: the target for which a profiler's overhead is highest.
//
//   small_launches [launches] [threads]
//
// Prints the nanoseconds per launch as seen by the host, including the final wait, and the memory
// of the process: resident, and the shared part of it.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

__global__ void tiny(int* out) {
  if (out) *out = 1;
}

static long status_kib(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (!file) return 0;
  char line[256];
  long kib = 0;
  while (std::fgets(line, sizeof line, file)) {
    if (std::strncmp(line, name, std::strlen(name)) == 0)
      kib = std::atol(line + std::strlen(name) + 1);
  }
  std::fclose(file);
  return kib;
}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 300000;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  if (cudaFree(nullptr) != cudaSuccess) {
    std::fprintf(stderr, "no usable GPU\n");
    return 1;
  }
  const auto launch = [](int count) {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < count; ++i) tiny<<<1, 32, 0, stream>>>(nullptr);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  };
  launch(1000);  // lazy loading and first buffers
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(launch, launches);
  launch(launches);
  for (std::thread& other : others) other.join();
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f ns per launch, %ld KiB resident, %ld KiB shared\n", time.count() / launches,
              status_kib("VmRSS:"), status_kib("RssShmem:"));
  return 0;
}
