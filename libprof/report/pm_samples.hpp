// Device counters over time, for the reports: reads table PM_SAMPLE one metric at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libprof/report/session.hpp"

namespace gpuprof::report {

struct PmMetric {
  std::string name, unit;
  std::int64_t part = 0;
  std::int64_t place = 0;  // from 1
};

// The sampled metrics, in their order.
std::vector<PmMetric> pm_metrics(Session& session);

struct WeightedValue {
  double value = 0;
  double weight = 0;  // ns
};

// Weighted by time.
struct PmStatistics {
  double mean = 0, max = 0;
  // The least value not exceeded during 50, 90 and 99 percent of the time.
  double p50 = 0, p90 = 0, p99 = 0;
};

// Returns nullopt if there are no values. Sorts them.
std::optional<PmStatistics> pm_statistics(std::vector<WeightedValue>& values);

struct PmValue {
  std::int64_t start = 0, stop = 0;
  double value = 0;
};

struct PmInterval {
  std::int64_t begin = 0, end = 0;
};

// A metric's values on one device, sorted by time, with distinct times.
using PmValues = std::vector<PmValue>;

// The metric's values that pass the session's filter, by device. Uses 24 bytes per value.
std::map<std::int64_t, PmValues> read_pm_values(Session& session, const PmMetric& metric);

// The values during the intervals, which must be in order and apart (unite).
std::vector<WeightedValue> values_within(const PmValues& values,
                                         std::span<const PmInterval> intervals);

// Means over equal parts of the time from the first value to the last; NaN where there is none.
std::vector<double> means_over_time(const PmValues& values, std::size_t parts);

// Work that is reported together: of a kernel, or of an NVTX path, on one device.
struct PmGroup {
  std::int64_t device = 0;
  std::int64_t name = 0;              // string id; 0: none
  std::int64_t count = 0;             // kernels or ranges
  std::int64_t time = 0;              // ns during which any of them was running
  std::vector<PmInterval> intervals;  // merged
};

// For each range, from its first to its last GPU work; most time first.
std::vector<PmGroup> pm_ranges(Session& session);
// Kernels long enough to have samples; their intervals are everything in PM_KERNEL.
std::vector<PmGroup> pm_kernels(Session& session);
// Means of the kernels, weighted by their time, by device and kernel name.
std::map<std::pair<std::int64_t, std::int64_t>, std::vector<WeightedValue>> read_pm_kernels(
    Session& session, const PmMetric& metric);

// Times without samples.
struct PmGaps {
  std::map<std::string, std::int64_t> by_reason;
  std::int64_t count = 0;
  std::int64_t time = 0;     // ns, of gaps of known length
  std::int64_t unknown = 0;  // gaps of unknown length
};
std::map<std::int64_t, PmGaps> pm_gaps(Session& session);  // by device

}  // namespace gpuprof::report
