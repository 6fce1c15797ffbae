// memory [N [THREADS]]: 64 MiB and 32 MiB by cuMemCreate, of which the first is mapped in two
// halves and outlives its handle; 8 MiB of the host registered; N calls that find no memory, each
// for 1 TiB and its number more; a module; in THREADS threads, 200 times 2 MiB made and released.
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

// What stacks show, and what lets the callers not be left out of them.
[[gnu::noinline]] std::uint64_t take_plain(std::uint64_t bytes) {
  const std::uint64_t address = fake_malloc(bytes);
  asm volatile("" ::: "memory");
  return address;
}

namespace weights {

[[gnu::noinline]] std::uint64_t load(std::uint64_t bytes) {
  const std::uint64_t address = take_plain(bytes);
  asm volatile("" ::: "memory");
  return address;
}

}  // namespace weights

int main(int argc, char** argv) {
  constexpr std::uint64_t mib = 1 << 20;
  constexpr std::uint64_t address = 0x500000000000;
  const int failures = argc > 1 ? std::atoi(argv[1]) : 0;
  const int count = argc > 2 ? std::atoi(argv[2]) : 0;
  const std::uint64_t plain = weights::load(16 * mib);
  const std::uint64_t first = fake_memory_create(64 * mib);
  const std::uint64_t second = fake_memory_create(32 * mib);
  fake_memory_map(address, 32 * mib, first);
  fake_memory_map(address + 32 * mib, 32 * mib, first);
  fake_memory_access(address, 64 * mib);
  fake_memory_release(first);
  fake_host_register(0x1000, 8 * mib);
  fake_launch("_Z4workPf", 1);
  fake_module_load();
  for (int i = 0; i < failures; ++i) {
    const std::uint64_t wanted = (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(i);
    if (i % 2 == 0) {
      fake_malloc(wanted);
    } else {
      fake_memory_create(wanted);
    }
  }
  fake_memory_unmap(address, 64 * mib);
  fake_host_unregister(0x1000);
  fake_free(plain);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 200; ++k) fake_memory_release(fake_memory_create(2 * mib));
    });
  }
  for (std::thread& thread : threads) thread.join();
  fake_memory_release(second);
  return 0;
}
