// What metrics say about a kernel: how near it comes to the peaks of the GPU, and its roofline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libprof/conclude/kernels/shapes.hpp"

namespace gpuprof::kernels {

// The mean over all launches that were measured, in the metric's unit.
struct Metric {
  std::string name, unit;  // texts of the file
  double mean = 0;
  std::int64_t measured = 0;
};

// Of a peak, in percent, and the metric that says so.
struct Share {
  double percent = 0;
  std::string metric;
};

// The share of the unit that comes nearest to its peak. Nullopt: none was measured.
std::optional<Share> compute_share(std::span<const Metric> metrics);
std::optional<Share> memory_share(std::span<const Metric> metrics);

// From 0 to 1. Nullopt: not measured.
std::optional<Share> achieved_occupancy(std::span<const Metric> metrics);

// Floating-point operations and bytes of device memory of one launch.
struct Roofline {
  double operations = 0, bytes = 0;
  std::vector<std::string> operation_metrics, byte_metrics;
  std::optional<double> duration;        // ns, of a launch whose code was not patched
  std::optional<Share> compute, memory;  // of the two roofs
  // Operations per byte; nullopt: no byte was moved.
  std::optional<double> intensity() const;
  // Whether memory is the nearer roof. Nullopt: a share is not known.
  std::optional<bool> is_bound_by_memory() const;
};
// Nullopt: operations or bytes were not measured.
std::optional<Roofline> roofline(std::span<const Metric> metrics);

// What a file has of metrics.
struct Measured {
  bool any = false;  // of kernels
  // Code was patched to count, so the kernels that were traced meanwhile took longer.
  bool patched = false;
  // By shape, as they were given: of all launches with its name, grid and block.
  std::vector<std::vector<Metric>> metrics;
};
Measured read_measured(reading::Profile& profile, std::span<const Shape> shapes,
                       const std::function<void()>& check);

}  // namespace gpuprof::kernels
