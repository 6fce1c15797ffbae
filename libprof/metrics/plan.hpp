// Which metrics are collected together, and what that costs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "libprof/metrics/catalogue.hpp"

namespace gpuprof::metrics {

// The cost of a launch depends on where the counters are located, not on their number
// (docs/measurements.md). A metric with several counters belongs to the most expensive of their
// classes.
enum class CostClass { device_time, patched, outside_sm, inside_sm };

struct Cost {
  std::string_view name;  // as shown in the plan
  double launch_us;       // per launch and pass
  double switch_us;       // to stop and to start again
};
const Cost& cost_of(CostClass cost);
CostClass cost_class(std::string_view counter);

struct Group {
  CostClass cost{};
  std::size_t passes = 0;
  std::vector<std::size_t> metrics;   // indices in the planned list
  std::vector<std::string> counters;  // of all these metrics, without duplicates
  cupti::Image config_image;

  double launch_us() const { return cost_of(cost).launch_us * static_cast<double>(passes); }
};

// Which metrics may share a group.
enum class Grouping {
  // Those whose counters cost the same and that take one pass each, or several each: so a launch
  // costs no more than it must, and what takes one pass is measured at each launch.
  by_cost,
  // All except those with patched code, which misses kernels in graphs and slows kernels down: if
  // each launch is measured in every group anyway, or there is no cost per launch.
  fewest,
  // The same, but device time is in no group that would be the first: the first run of application
  // replay is traced, which lengthens a kernel by some 0.8 us (measured).
  fewest_runs,
};

// As few groups as possible. Those of one pass stay so; a metric that needs several passes shares
// its group with others if that takes no extra pass. Throws gpuprof::Error for a metric that CUPTI
// cannot collect.
std::vector<Group> plan(const cupti::HostChip& chip, std::span<const Metric> metrics,
                        Grouping grouping = Grouping::by_cost);

// The names of as many of these metrics as one pass can collect together.
std::vector<std::string> most_of_one_pass(const cupti::HostChip& chip,
                                          std::span<const Metric> metrics);

// How many launches to measure between two readings, given the total number: weighs the cost that
// each launch adds to the first Start against the cost of each reading.
std::uint32_t best_batch(const Group& group, std::uint64_t launches);

// All in one group, however many passes that takes.
Group plan_together(const cupti::HostChip& chip, std::span<const Metric> metrics);

}  // namespace gpuprof::metrics
