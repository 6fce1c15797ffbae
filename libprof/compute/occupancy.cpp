#include "libprof/compute/occupancy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gpuprof::compute {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t warp_size = 32;
constexpr std::int64_t register_granularity = 256;  // per warp
constexpr std::int64_t partitions = 4;              // per multiprocessor, with own registers
constexpr std::int64_t kib = 1024;

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return divided_up(a, b) * b; }

bool known(const DeviceLimits& device) {
  const auto sound = [](std::int64_t limit) { return limit > 0 && limit <= (1 << 30); };
  return device.compute_major >= 7 && device.compute_major <= 12 && sound(device.multiprocessors) &&
         sound(device.warps) && sound(device.blocks) && sound(device.registers) &&
         sound(device.shared_memory) && sound(device.registers_per_block) &&
         device.reserved_shared_memory_per_block >= 0 &&
         device.reserved_shared_memory_per_block <= (1 << 30);
}

bool sound(const LaunchShape& shape) {
  return shape.blocks > 0 && shape.threads_per_block > 0 && shape.threads_per_block <= 1024 &&
         shape.registers_per_thread >= 0 && shape.registers_per_thread <= 256 &&
         shape.shared_memory_per_block >= 0 && shape.shared_memory_per_block <= (1 << 30);
}

// The smallest shared memory size configurable on a multiprocessor that has room for `bytes`;
// nullopt if there is none.
std::optional<std::int64_t> configuration(const DeviceLimits& device, std::int64_t bytes) {
  constexpr std::array<std::int64_t, 12> sizes{0, 8, 16, 32, 64, 96, 100, 132, 164, 196, 228, 328};
  const bool turing = device.compute_major == 7 && device.compute_minor == 5;
  for (const std::int64_t size : sizes) {
    if (size * kib > device.shared_memory) break;
    if (size == 96 && device.compute_major != 7) continue;
    if (turing && size < 32) continue;
    if (size * kib >= bytes) return size * kib;
  }
  return {};
}

}  // namespace

std::optional<Occupancy> occupancy(const DeviceLimits& device, const LaunchShape& shape) {
  if (!known(device) || !sound(shape)) return {};
  const std::int64_t warps = divided_up(shape.threads_per_block, warp_size);
  const std::int64_t by_warps = device.warps / warps;

  std::int64_t by_registers = unlimited;
  const std::int64_t of_warp =
      rounded_up(shape.registers_per_thread * warp_size, register_granularity);
  if (of_warp > 0) {
    // The device checks a launch as if all partitions got the same number of warps.
    if (of_warp * rounded_up(warps, partitions) > device.registers_per_block) return {};
    by_registers = device.registers / partitions / of_warp * partitions / warps;
  }

  std::int64_t by_shared_memory = unlimited;
  const std::int64_t granularity = device.compute_major == 7 ? 256 : 128;
  const std::int64_t of_block = rounded_up(
      shape.shared_memory_per_block + device.reserved_shared_memory_per_block, granularity);
  if (of_block > 0) {
    // The requested carveout counts, unless not even one block would fit.
    std::optional<std::int64_t> room = device.shared_memory;
    if (shape.carveout && *shape.carveout >= 0 && *shape.carveout <= 100) {
      room = configuration(device, *shape.carveout * device.shared_memory / 100);
      if (room && *room < of_block) room = configuration(device, of_block);
    }
    if (!room) return {};
    by_shared_memory = *room / of_block;
  }

  const std::int64_t fits = std::min({by_warps, by_registers, by_shared_memory, device.blocks});
  if (fits == 0) return {};
  Occupancy result{.blocks_per_multiprocessor = fits};
  result.limits = (by_warps == fits ? Occupancy::warps : 0u) |
                  (by_registers == fits ? Occupancy::registers : 0u) |
                  (by_shared_memory == fits ? Occupancy::shared_memory : 0u) |
                  (device.blocks == fits ? Occupancy::blocks : 0u);
  result.theoretical = static_cast<double>(fits * warps) / static_cast<double>(device.warps);
  result.waves = static_cast<double>(shape.blocks) / static_cast<double>(fits) /
                 static_cast<double>(device.multiprocessors);
  result.tail_share = 1 - result.waves / std::ceil(result.waves);
  return result;
}

}  // namespace gpuprof::compute
