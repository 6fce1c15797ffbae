// What differs between launches as far as occupancy goes: table LAUNCH_SHAPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>

#include "libprof/derive/kernel_rows.hpp"
#include "libprof/derive/occupancy.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// One thread. Memory: some 100 bytes for each shape. More than most_shapes are left out.
class LaunchShapes {
 public:
  static constexpr std::size_t most_shapes = std::size_t{1} << 18;

  void add(const KernelRows& kernels);
  // The devices they ran on.
  void read_devices(store::Snapshot& snapshot);
  // Fills the table, inside the caller's transaction.
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

  std::unordered_set<Key, Hash> shapes_;
  Key latest_{};                                                           // launches come in loops
  std::map<std::pair<std::int64_t, std::int64_t>, DeviceLimits> devices_;  // by device and process
};

}  // namespace gpuprof::derive
