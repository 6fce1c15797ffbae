// What is known of a profile's kernels, one page for each shape. For gpuprof kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libprof/conclude/kernels/code.hpp"
#include "libprof/conclude/kernels/measures.hpp"
#include "libprof/conclude/kernels/shapes.hpp"

namespace gpuprof::kernels {

// The same kernel in another profile.
struct Baseline {
  // Launches with the same name, grid and block. Nullopt: there are none.
  std::optional<Shape> shape;
  std::int64_t launches = 0;  // with the same name
  double share = 0;           // of the shape, of the time of all kernels there, from 0 to 1
};

struct Kernel {
  Shape shape;
  std::string display;  // its name, as short as is unique within the file; text of the file
  double share = 0;     // of the time of all kernels, from 0 to 1
  std::optional<Occupancy> occupancy;
  std::vector<Metric> metrics;  // of all launches with its name, grid and block
  Code code;
  std::optional<Baseline> baseline;
};

struct Kernels {
  std::vector<std::string> devices;      // models; texts of the file
  std::int64_t launches = 0, total = 0;  // total: ns, of all kernels that have times
  std::size_t shapes = 0;                // that were asked for; `kernels` has the first of them
  std::int64_t left_out = 0;             // launches in more shapes than are kept apart
  std::vector<Kernel> kernels;           // those with most time come first
  std::vector<std::string> missing;      // what is not known, and the option that records it
  bool patched = false;                  // code of kernels was patched, so times are longer
};

// What a launch asks for.
struct Launch {
  std::int64_t name_id = 0;
  Dimensions grid{}, block{};
  std::int64_t registers = 0, dynamic_shared_memory = 0;
  bool is_of(const Shape& shape) const;
};

struct Wanted {
  std::string pattern = {};  // regular expression, searched for in readable names; empty: all
  std::size_t most = 10;
  std::optional<Launch> launch = {};  // only shapes of such launches
};

// Of the launches that the session's filter selects. Metrics and samples are of all launches.
Kernels read_kernels(report::Session& session, const Wanted& wanted,
                     const std::function<void()>& check);

// Adds what `baseline` has of each kernel.
void compare_with(Kernels& kernels, const Shapes& baseline);

}  // namespace gpuprof::kernels
