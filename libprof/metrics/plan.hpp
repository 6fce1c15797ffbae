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

// What a launch costs depends on where the counters sit and not on how many there are
// (docs/measurements.md). A metric of several counters belongs to the dearest of their classes.
enum class CostClass { device_time, patched, outside_sm, inside_sm };

struct Cost {
  std::string_view name;  // as the plan shows it
  double launch_us;       // per launch and pass
  double switch_us;       // to stop and to start again
};
const Cost& cost_of(CostClass cost);
CostClass cost_class(std::string_view counter);

struct Group {
  CostClass cost{};
  std::size_t passes = 0;
  std::vector<std::size_t> metrics;   // places in the list that was planned
  std::vector<std::string> counters;  // all of theirs, each once
  cupti::Image config_image;

  double launch_us() const { return cost_of(cost).launch_us * static_cast<double>(passes); }
};

// Which metrics may share a group: those whose counters cost the same, or, where nothing is paid by
// the launch, all but those of patched code, which leaves out the kernels of graphs.
enum class Grouping { by_cost, fewest };

// Groups of one pass each, as few as can be; a metric that needs several passes shares its group
// with others where that costs no pass more. Throws gpuprof::Error for a metric that CUPTI cannot
// collect.
std::vector<Group> plan(const cupti::HostChip& chip, std::span<const Metric> metrics,
                        Grouping grouping = Grouping::by_cost);

// The most of these metrics that one pass can take together: names.
std::vector<std::string> most_of_one_pass(const cupti::HostChip& chip,
                                          std::span<const Metric> metrics);

// How many launches to measure between two readings, for so many in all: what starting costs for
// each of them against what each reading costs.
std::uint32_t best_batch(const Group& group, std::uint64_t launches);

// All in one group, whatever it takes.
Group plan_together(const cupti::HostChip& chip, std::span<const Metric> metrics);

}  // namespace gpuprof::metrics
