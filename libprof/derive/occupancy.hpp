// How many blocks of a launch fit on a multiprocessor at a time, and what that makes of the grid:
// what CUDA's occupancy calculator says, without a device.
#pragma once

#include <cstdint>
#include <optional>

namespace gpuprof::derive {

// Of a device: CUPTI_ACTIVITY_KIND_DEVICE has all but the last, which is the CUdevice_attribute
// RESERVED_SHARED_MEMORY_PER_BLOCK.
struct DeviceLimits {
  std::int64_t compute_major = 0;
  std::int64_t compute_minor = 0;
  std::int64_t multiprocessors = 0;
  std::int64_t warps = 0;  // of a multiprocessor, as what follows
  std::int64_t blocks = 0;
  std::int64_t registers = 0;      // of 32 bits
  std::int64_t shared_memory = 0;  // bytes
  std::int64_t registers_per_block = 0;
  std::int64_t reserved_shared_memory_per_block = 0;  // bytes
};

struct LaunchShape {
  std::int64_t blocks = 0;
  std::int64_t threads_per_block = 0;
  std::int64_t registers_per_thread = 0;
  std::int64_t shared_memory_per_block = 0;   // static and dynamic, bytes
  std::optional<std::int64_t> carveout = {};  // asked for, percent of the shared memory
};

struct Occupancy {
  // What lets no more blocks fit; several may be equal.
  enum Limit : unsigned { warps = 1, registers = 2, shared_memory = 4, blocks = 8 };

  std::int64_t blocks_per_multiprocessor = 0;
  unsigned limits = 0;
  double theoretical = 0;  // warps of these blocks, of those a multiprocessor holds: 0 to 1
  double waves = 0;        // the grid, by the blocks that fit on the device
  double tail_share = 0;   // of the waves' room, what the last one leaves empty
};

// Nothing: limits are missing or of a device before compute capability 7.0 or after 12.x, or the
// shape cannot run there. Any numbers are taken: they come out of files. Not looked at, for no
// record has it: named barriers, and multiprocessors that MIG or a green context leaves out.
std::optional<Occupancy> occupancy(const DeviceLimits& device, const LaunchShape& shape);

}  // namespace gpuprof::derive
