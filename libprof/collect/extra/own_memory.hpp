// The process's own memory, read through the kernel, which returns an error where we would crash.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::collect {

// false: not all of it can be read. `process`: our own id. May be called in a signal handler.
bool read_own_memory(pid_t process, std::uint64_t from, void* to, std::size_t bytes);

// The same from a place upwards, page by page; returns how many bytes could be read. At most
// most_pages pages.
inline constexpr std::size_t most_pages = 16;
std::size_t read_own_pages(pid_t process, std::uint64_t from, void* to, std::size_t bytes);

}  // namespace gpuprof::collect
