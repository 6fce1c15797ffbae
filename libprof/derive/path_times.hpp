// What devices did for NVTX ranges, by where these lie: all that are called alike and lie in ranges
// that are called alike are one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libprof/store/scan.hpp"

namespace gpuprof::derive {

struct PathTime {
  static constexpr std::size_t none = SIZE_MAX;

  std::size_t parent = none;  // place of what is around it, which comes before it
  std::int64_t name = 0;      // message: StringTable id
  std::int64_t ranges = 0;    // that have work
  std::int64_t work = 0;      // kernels, copies, sets and the like that were asked for in them
  std::int64_t busy = 0;      // ns in which any of that ran, on any device
  std::int64_t span = 0;      // ns between the first and the last work of any of them
};

// Of work from one time to another, of each the part that lies there. Reads all work of the file,
// and LAUNCH_RANGE and NVTX_RANGE; empty where it lacks one of these. `check` is called now and
// then and may throw. Memory: some 100 bytes for each range with work. A range with work more than
// 32 ranges deep in it is left out.
std::vector<PathTime> path_times(store::Snapshot& snapshot, std::int64_t from, std::int64_t to,
                                 const std::function<void()>& check);

}  // namespace gpuprof::derive
