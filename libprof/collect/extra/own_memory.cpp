#include "libprof/collect/extra/own_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>

namespace gpuprof::collect {

bool read_own_memory(pid_t process, std::uint64_t from, void* to, std::size_t bytes) {
  iovec ours{to, bytes};
  iovec theirs{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(process, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
}

// A read ends in the middle of its parts, not in the middle of one.
std::size_t read_own_pages(pid_t process, std::uint64_t from, void* to, std::size_t bytes) {
  constexpr std::uint64_t page = 4096;
  std::array<iovec, most_pages + 1> theirs;
  std::size_t count = 0;
  const std::uint64_t end = from + std::min<std::size_t>(bytes, page * most_pages);
  for (std::uint64_t at = from; at < end; ++count) {
    const std::uint64_t next = std::min(end, (at / page + 1) * page);
    theirs[count] = {reinterpret_cast<void*>(at), next - at};
    at = next;
  }
  iovec ours{to, end - from};
  const ssize_t got = process_vm_readv(process, &ours, 1, theirs.data(), count, 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

}  // namespace gpuprof::collect
