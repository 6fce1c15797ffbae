// Descriptors that are kept for the files of the run, which without them would end for all.
#pragma once

#include <sys/resource.h>

namespace gpuprof::launch {

// So many of the last ones that gpuprof may have are left free by sockets, and by arenas; never
// more than a quarter of all.
constexpr rlim_t sockets_leave = 64, arenas_leave = 32;

// Whether a descriptor of a target's is among the last `kept` that we may have. They are given by
// number, the lowest first. Any thread.
bool is_among_last(int file, rlim_t kept);

}  // namespace gpuprof::launch
