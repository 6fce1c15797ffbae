// The steps of a program that does not name them: what its sequence of launches repeats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/sorted.hpp"

namespace gpuprof::compute {

// Of the process with most work. A training step launches the same kernels, copies and sets each
// time, in the same order. Used by one thread. Memory: what Sorted uses, and 4 bytes per work.
class LaunchPeriod {
 public:
  static constexpr std::int64_t least_length = 4;           // works in a step
  static constexpr std::int64_t least_steps_in_a_row = 10;  // on the average
  static constexpr std::int64_t least_steps = 5;            // that are found, or none are
  static constexpr double least_alike = 0.8;                // see below
  static constexpr double least_coverage = 0.5;             // of the process's work
  static constexpr std::int64_t most_works = 1 << 24;       // more are not looked at
  static constexpr std::int64_t most_steps = 100'000;

  // In start order.
  void add(const GpuWork& work);

  struct Start {
    std::int64_t correlation = 0;  // of the step's first launch
    std::int64_t begin = 0;        // of its work, ns on CUPTI's clock
    bool goes_on = false;          // the next start is that of the next step
  };
  struct Found {
    std::int64_t process = 0;
    std::int64_t length = 0;         // works in most steps
    double alike = 0;                // share of the steps' works that are those of the step before
    std::vector<Start> starts = {};  // in launch order; the last is where the last step ends
  };
  // Nothing may be added afterwards. Nullopt: nothing is repeated often enough.
  std::optional<Found> find();

 private:
  struct Launch {
    std::int64_t correlation, begin;
    std::int32_t what;  // name of a kernel, or a kind
    bool operator<(const Launch& other) const { return correlation < other.correlation; }
  };
  struct Process {
    std::int64_t works = 0, id = 0;
  };

  Sorted<Launch> launches_;
  std::map<std::int64_t, Process> processes_;  // by the high bits of their correlation ids
};

}  // namespace gpuprof::compute
