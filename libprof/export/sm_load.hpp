// How launches fill the multiprocessors of their devices, as PyTorch's profiler says it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "libprof/export/activities.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::exporting {

// Reads the devices and the table LAUNCH_SHAPE, and asks the database nothing afterwards: writers
// have a thread of their own.
class SmLoads {
 public:
  struct Load {
    double blocks = 0, warps = 0;          // of the launch, for each multiprocessor
    std::optional<double> occupancy = {};  // share of its warps, of those that fit at a time
  };

  explicit SmLoads(store::Database& database);

  // Of a kernel. Nothing: its device is not known.
  std::optional<Load> of(const Activity& kernel) const;

 private:
  struct Device {
    std::int64_t multiprocessors, warps;  // warps of a multiprocessor
  };

  std::map<std::pair<std::int64_t, std::int64_t>, Device> devices_;  // by process and device
  std::map<std::array<std::int64_t, 7>, std::int64_t> blocks_;  // that fit, by LAUNCH_SHAPE's key
};

}  // namespace gpuprof::exporting
