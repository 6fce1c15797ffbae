// How many blocks of a launch fit on a multiprocessor, and what that means for the grid: the
// results of CUDA's occupancy calculator, without a device.
#pragma once

#include <cstdint>
#include <optional>

namespace gpuprof::compute {

// Limits of a device: CUPTI_ACTIVITY_KIND_DEVICE has all but the last, which is the
// CUdevice_attribute RESERVED_SHARED_MEMORY_PER_BLOCK.
struct DeviceLimits {
  std::int64_t compute_major = 0;
  std::int64_t compute_minor = 0;
  std::int64_t multiprocessors = 0;
  std::int64_t warps = 0;  // per multiprocessor, like the next three
  std::int64_t blocks = 0;
  std::int64_t registers = 0;      // 32-bit registers
  std::int64_t shared_memory = 0;  // bytes
  std::int64_t registers_per_block = 0;
  std::int64_t reserved_shared_memory_per_block = 0;  // bytes
};

struct LaunchShape {
  std::int64_t blocks = 0;
  std::int64_t threads_per_block = 0;
  std::int64_t registers_per_thread = 0;
  std::int64_t shared_memory_per_block = 0;   // static and dynamic, bytes
  std::optional<std::int64_t> carveout = {};  // requested, percent of the shared memory
};

struct Occupancy {
  // What keeps more blocks from fitting; several may tie.
  enum Limit : unsigned { warps = 1, registers = 2, shared_memory = 4, blocks = 8 };

  std::int64_t blocks_per_multiprocessor = 0;
  unsigned limits = 0;
  double theoretical = 0;  // these blocks' warps over the multiprocessor's maximum: 0 to 1
  double waves = 0;        // the grid divided by the blocks that fit on the device
  double tail_share = 0;   // share of the waves' capacity left empty by the last one
};

// Nullopt if limits are missing or belong to a device before compute capability 7.0 or after 12.x,
// or if the shape cannot run there. Accepts any numbers, as they come from files. Not considered,
// because no record has it: named barriers, and multiprocessors excluded by MIG or a green context.
std::optional<Occupancy> occupancy(const DeviceLimits& device, const LaunchShape& shape);

}  // namespace gpuprof::compute
