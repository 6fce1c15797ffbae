// Kernels as they are read: columns of one chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuprof::compute {

struct KernelRows {
  std::size_t count = 0;
  std::span<const std::int64_t> device, process, begin, end, correlation;
  std::span<const std::int32_t> name;  // StringTable ids
  std::span<const std::int32_t> grid_x, grid_y, grid_z, block_x, block_y, block_z;
  std::span<const std::int32_t> registers, static_shared_memory, dynamic_shared_memory, carveout;
  std::span<const std::uint8_t> carveout_requested;
};

}  // namespace gpuprof::compute
