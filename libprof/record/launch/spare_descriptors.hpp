// Descriptors reserved for the files of the run, without which it would end for all processes.
#pragma once

#include <sys/resource.h>

namespace gpuprof::launch {

// Sockets, and arenas, leave this many of the last descriptors free; never more than a quarter of
// all.
constexpr rlim_t sockets_leave = 64, arenas_leave = 32;

// Whether a target's descriptor is among the last `kept` available to us. They are assigned lowest
// number first. Any thread.
bool is_among_last(int file, rlim_t kept);

}  // namespace gpuprof::launch
