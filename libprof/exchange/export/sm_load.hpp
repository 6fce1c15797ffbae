// How launches fill the multiprocessors of their devices, as PyTorch's profiler reports it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "libprof/exchange/export/activities.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::exporting {

// Reads the devices and the table LAUNCH_SHAPE at construction and does not use the database
// afterwards, because writers run on their own thread.
class SmLoads {
 public:
  struct Load {
    double blocks = 0, warps = 0;          // of the launch, per multiprocessor
    std::optional<double> occupancy = {};  // its concurrent warps over the maximum
  };

  explicit SmLoads(store::Database& database);

  // For a kernel. Nullopt: its device is unknown.
  std::optional<Load> of(const Activity& kernel) const;

 private:
  struct Device {
    std::int64_t multiprocessors, warps;  // warps per multiprocessor
  };

  std::map<std::pair<std::int64_t, std::int64_t>, Device> devices_;  // by process and device
  std::map<std::array<std::int64_t, 7>, std::int64_t> blocks_;  // that fit, by LAUNCH_SHAPE's key
};

}  // namespace gpuprof::exporting
