// Kernels by shape: the launches that are alike in everything that the launch says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libprof/read/profile.hpp"

namespace gpuprof::kernels {

// As in the table LAUNCH_SHAPE.
struct Occupancy {
  std::int64_t blocks_per_multiprocessor = 0;
  std::string limiter;
  double theoretical = 0;
  double waves = 0;
  double tail_share = 0;
};

using Dimensions = std::array<std::int64_t, 3>;
std::int64_t product(const Dimensions& sizes);

struct Shape {
  std::int64_t name_id = 0;  // in StringTable
  std::string name;          // readable; text of the file
  std::string device;        // the model that ran them; text of the file; empty: not known
  Dimensions grid{}, block{};
  std::int64_t registers = 0;                                        // of a thread
  std::int64_t dynamic_shared_memory = 0, static_shared_memory = 0;  // bytes, of a block
  std::int64_t local_memory = 0;  // bytes, of a thread; -1: not known
  std::int64_t carveout = -1;     // asked for, %; -1: none

  std::int64_t launches = 0;
  std::int64_t timed = 0;  // launches that have times; the next figures are of these, in ns
  std::int64_t total = 0, shortest = 0, longest = 0;
  std::int64_t median = 0, p90 = 0;  // see libprof/base/percentiles.hpp

  std::int64_t device_id = 0, process_id = 0;  // of the first launch
  bool is_alone = true;                        // no other shape has its name, grid and block

  bool same_launch(const Shape& other) const {
    return name == other.name && grid == other.grid && block == other.block;
  }
};

struct Shapes {
  std::vector<Shape> shapes;             // those with most time come first
  std::vector<std::string> devices;      // models, without those that are not known
  std::int64_t launches = 0, total = 0;  // total: ns, of all kernels that have times
  std::int64_t left_out = 0;             // launches in more shapes than are kept apart
};

// The kernels that the profile's filter selects. `check` is called now and then and may throw.
Shapes read_shapes(reading::Profile& profile, const std::function<void()>& check);

// Nullopt: the file does not say.
std::optional<Occupancy> read_occupancy(reading::Profile& profile, const Shape& shape);

}  // namespace gpuprof::kernels
