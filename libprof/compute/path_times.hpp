// GPU work of NVTX ranges by path: ranges with the same name inside ranges with the same names are
// combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

struct PathTime {
  static constexpr std::size_t none = SIZE_MAX;

  std::size_t parent = none;  // index of the enclosing path, which comes first
  std::int64_t name = 0;      // message: StringTable id
  std::int64_t ranges = 0;    // with work
  std::int64_t work = 0;      // kernels, copies, sets etc. requested in them
  std::int64_t busy = 0;      // ns during which any of it ran, on any device
  std::int64_t span = 0;      // ns between first and last work of any of them
};

// Work between two times, clipped to them. Reads all work of the file, and LAUNCH_RANGE and
// NVTX_RANGE; empty if one of these is missing. `check` is called now and then and may throw.
// Memory: some 100 bytes per range with work. Ranges with work more than 32 levels deep inside them
// are omitted.
std::vector<PathTime> path_times(store::Snapshot& snapshot, std::int64_t from, std::int64_t to,
                                 const std::function<void()>& check);

}  // namespace gpuprof::compute
