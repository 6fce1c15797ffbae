// Allocates memory of ten sizes, of three kinds and from two pools, and frees all of it except
// three blocks that a library keeps: allocations [END [LIBRARY]]. END is return, exit, abort or
// kill; LIBRARY exports keep() (tests/gpu/keeps_memory.c). Prints the peak of each kind in lines
// "KIND BYTES".
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "examples/check.hpp"

namespace {

constexpr std::size_t sizes[] = {1,       512,       1000,      4096,       70'000,
                                 1 << 20, 3'000'000, 8'388'608, 20'000'001, 64 << 20};
constexpr std::size_t kept[] = {1000, 70'000, 3'000'000};

struct Kind {
  std::size_t in_use = 0;
  std::size_t peak = 0;
  void add(std::size_t bytes) { peak = std::max(peak, in_use += bytes); }
};
std::map<std::string, Kind> kinds;

__global__ void fill(char* to, std::size_t bytes) {
  for (std::size_t i = threadIdx.x; i < bytes; i += blockDim.x) to[i] = 1;
}

cudaError_t allocate(const std::string& kind, cudaMemPool_t pool, void** to, std::size_t bytes) {
  kinds[kind].add(bytes);
  if (kind == "Device") return cudaMalloc(to, bytes);
  if (kind == "Pinned") return cudaMallocHost(to, bytes);
  if (kind == "Managed") return cudaMallocManaged(to, bytes);
  return cudaMallocFromPoolAsync(to, bytes, pool, nullptr);
}

cudaError_t release(const std::string& kind, void* memory, std::size_t bytes) {
  kinds[kind].in_use -= bytes;
  if (kind == "Pinned") return cudaFreeHost(memory);
  if (kind.rfind("pool", 0) == 0) return cudaFreeAsync(memory, nullptr);
  return cudaFree(memory);
}

// All ten at once, then one after another.
int use(const std::string& kind, cudaMemPool_t pool) {
  const std::size_t most = kind == "Managed" ? 1 << 20 : ~std::size_t{0};
  std::map<std::size_t, void*> all;
  for (const std::size_t bytes : sizes) {
    if (bytes <= most) CHECK(allocate(kind, pool, &all[bytes], bytes));
  }
  for (const auto& [bytes, memory] : all) {
    fill<<<1, 128>>>(static_cast<char*>(memory), bytes);
    CHECK(cudaStreamSynchronize(nullptr));
    CHECK(release(kind, memory, bytes));
  }
  for (const std::size_t bytes : sizes) {
    void* memory = nullptr;
    if (bytes > most) continue;
    CHECK(allocate(kind, pool, &memory, bytes));
    CHECK(release(kind, memory, bytes));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string end = argc > 1 ? argv[1] : "return";
  CHECK(cudaFree(nullptr));
  for (const char* kind : {"Device", "Pinned", "Managed"}) {
    if (use(kind, nullptr) != 0) return 1;
  }
  cudaMemPool_t pools[2];
  CHECK(cudaDeviceGetDefaultMemPool(&pools[0], 0));
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  CHECK(cudaMemPoolCreate(&pools[1], &properties));
  if (use("pool 0", pools[0]) != 0 || use("pool 1", pools[1]) != 0) return 1;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemPoolDestroy(pools[1]));

  void* memory = nullptr;
  if (cudaMalloc(&memory, std::size_t{1} << 50) == cudaSuccess) return 1;
  cudaGetLastError();

  if (argc > 2) {
    using Keep = int(cudaError_t(*)(void**, std::size_t), std::size_t);
    void* const library = dlopen(argv[2], RTLD_NOW);
    auto* const keep = library ? reinterpret_cast<Keep*>(dlsym(library, "keep")) : nullptr;
    if (!keep) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    for (const std::size_t bytes : kept) {
      if (keep(&cudaMalloc, bytes) != 0) return 1;
      kinds["kept"].add(bytes);
    }
  }
  for (const auto& [kind, bytes] : kinds) std::printf("%s %zu\n", kind.c_str(), bytes.peak);
  std::fflush(stdout);
  // Longer than records stay in the program.
  if (end == "abort" || end == "kill") std::this_thread::sleep_for(std::chrono::seconds(2));
  if (end == "exit") std::exit(3);
  if (end == "abort") std::abort();
  if (end == "kill") std::raise(SIGKILL);
  return 0;
}
