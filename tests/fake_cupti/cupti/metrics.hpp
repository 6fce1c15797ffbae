// The metrics of the stand-in's chips: what they are called, how many passes they take, and what
// they are worth. Needs no driver; both sides of the profiling API use it. Any thread.
//
// Chips: FAKE1 has 4 instances of each unit, FAKE2 has 8. FAKE2 calls dram__bytes_read
// dram__bytes_op_read, as GB202 does.
//
// Values, for one launch of C = grid x*y*z blocks, W = C * ceil(block x*y*z / 32) warps and
// T = C * block x*y*z threads that took D ns; those of a user range are sums over its launches:
//   NAME.sum            of a counter: a factor of C, W, T or D, see metrics.cpp
//   .avg .min .max      .sum / instances; the unit gpu has one instance
//   .per_second         / D * 1e9
//   .per_cycle_active   / D; there is a cycle each ns
//   .per_cycle_elapsed  / 2 D
//   .peak_sustained     64 an instance: of .sum 64 * instances, else 64
//   .pct_of_peak_…      100 * per_cycle_… / peak_sustained
//   ratios              .ratio and .max_rate are constants, .pct = 100 * .ratio / .max_rate
//   throughputs         a constant, with each roll-up
// A part of the device has fewer instances of sm, smsp and l1tex, and no value for other units.
//
// Passes: each call of cuptiProfilerHostConfigAddMetrics takes passes of its own, as seen in
// NVIDIA's libcupti 13.0. In a call
//   - a unit counts 4 counters a pass (sm and smsp are one unit; a ratio takes 2 counters), units
//     count side by side;
//   - a throughput takes passes of its own: sm__throughput 3, gpu__compute_memory_throughput 2;
//   - sass counters, however many, take one more; a sass counter over time or cycles needs a
//     hardware counter of the unit gpc besides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace fake {

inline constexpr std::array chips{"FAKE1", "FAKE2"};

// Place in `chips`.
std::optional<std::uint32_t> find_chip(std::string_view name);

// As in CUpti_MetricType.
enum class MetricType { counter, ratio, throughput };

struct BaseMetric;

// A base metric with what may stand behind its name.
struct Metric {
  const BaseMetric* base;
  std::string_view suffix;  // ".sum.per_second"; may be empty
};

// Nothing: the chip has no such metric, or it cannot have that suffix. The suffix is a part of
// `name`.
std::optional<Metric> find_metric(std::uint32_t chip, std::string_view name);

// The suffix says which value it is, not only a part of it.
bool is_whole(const Metric& metric);

// Of each type, in the order of the table.
std::vector<const char*> base_metrics(std::uint32_t chip, MetricType type);
const std::vector<const char*>& suffixes(MetricType type);

MetricType type_of(const Metric& metric);
const char* description(const Metric& metric);
const char* unit(const Metric& metric);
const char* dimension(const Metric& metric);
bool is_device_level(const Metric& metric);
// One bit for each base metric.
std::uint64_t bit(const Metric& metric);

// What a configuration asks for.
struct Plan {
  std::uint64_t metrics = 0;  // bits
  std::uint32_t passes = 0;
};

// Adds one call's metrics. False if there are none, if one is unknown or has no suffix, or if
// metrics of the device are mixed with others.
bool add(Plan& plan, std::uint32_t chip, std::span<const char* const> names);

// What a range counted.
struct Counts {
  std::uint64_t blocks = 0;
  std::uint64_t warps = 0;
  std::uint64_t threads = 0;
  std::uint64_t ns = 0;
};

// `instances`: those of a part of the device; 0: all.
double value(const Metric& metric, std::uint32_t chip, const Counts& counts,
             std::uint64_t instances = 0);

}  // namespace fake
