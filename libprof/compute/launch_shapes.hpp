// The distinct launch configurations that affect occupancy, and which kernels spent how much time
// in each: tables LAUNCH_SHAPE and OCCUPANCY_TIME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/compute/duration_sum.hpp"
#include "libprof/compute/kernel_rows.hpp"
#include "libprof/compute/occupancy.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: some 150 bytes per shape, and as much for each kernel in each of its
// shapes. Shapes beyond most_shapes are ignored; if there are more kernels in shapes than that,
// OCCUPANCY_TIME stays empty.
class LaunchShapes {
 public:
  static constexpr std::size_t most_shapes = std::size_t{1} << 18;

  void add(const KernelRows& kernels);
  // Reads the devices' limits.
  void read_devices(store::Snapshot& snapshot);
  // Fills the tables, inside the caller's transaction.
  void write(store::Database& database) const;

 private:
  // The key of a row.
  struct Key {
    std::int64_t blocks, threads, shared_memory, registers, carveout, device, process;
    bool operator==(const Key&) const = default;
    auto operator<=>(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  // Launches of a kernel in a shape.
  struct Launches {
    std::size_t shape;  // index in keys_
    std::int32_t kernel;
    std::int64_t count = 0;
    DurationSum durations;
  };

  std::optional<std::size_t> shape_of(const Key& key);
  Launches* launches_of(std::size_t shape, std::int32_t kernel);
  void write_occupancy(store::Database& database,
                       const std::vector<std::optional<Occupancy>>& occupancies) const;

  std::vector<Key> keys_;
  std::unordered_map<Key, std::size_t, Hash> shapes_;  // indexes in keys_
  std::vector<Launches> launches_;
  std::unordered_map<std::uint64_t, std::size_t> by_kernel_;  // by shape and kernel
  bool complete_ = true;                                      // launches_ has all
  Key latest_{};                                              // launches come in loops
  std::optional<std::size_t> latest_shape_;                   // of latest_; nullopt: ignored
  std::size_t latest_launches_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, DeviceLimits> devices_;  // by device and process
};

}  // namespace gpuprof::compute
