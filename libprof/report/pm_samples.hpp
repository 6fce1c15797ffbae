// What counters of devices said over time, for the reports: table PM_SAMPLE, a metric at a time.
#pragma once

#include <array>
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

// The metrics that were sampled, in their order.
std::vector<PmMetric> pm_metrics(Session& session);

struct WeightedValue {
  double value = 0;
  double weight = 0;  // ns
};

// Each weighted by time.
struct PmStatistics {
  double mean = 0, max = 0;
  // The least value that is not exceeded in 50, 90 and 99 percent of the time.
  double p50 = 0, p90 = 0, p99 = 0;
};

// Nothing: there are no values. Puts them in order.
std::optional<PmStatistics> pm_statistics(std::vector<WeightedValue>& values);

struct PmValue {
  std::int64_t start = 0, stop = 0;
  double value = 0;
};

struct PmInterval {
  std::int64_t begin = 0, end = 0;
};

// The values of a metric on a device, by time, of which no two are of the same time.
using PmValues = std::vector<PmValue>;

// The metric's values that pass the session's filter, by device. In memory: 24 bytes for a value.
std::map<std::int64_t, PmValues> read_pm_values(Session& session, const PmMetric& metric);

// Puts them in order and makes one of those that meet, so that no time counts twice.
void merge(std::vector<PmInterval>& intervals);

// The values in the time of the intervals, which are merged.
std::vector<WeightedValue> values_within(const PmValues& values,
                                         std::span<const PmInterval> intervals);

// Means of equal parts of the time from the first value to the last; NaN: there is none.
std::vector<double> means_over_time(const PmValues& values, std::size_t parts);

// What is told together: work of a kernel, or of an NVTX path, on a device.
struct PmGroup {
  std::int64_t device = 0;
  std::int64_t name = 0;              // string id; 0: none
  std::int64_t count = 0;             // kernels or ranges
  std::int64_t time = 0;              // ns, in which any was there
  std::vector<PmInterval> intervals;  // merged
};

// From the first to the last work on the GPU of each range; those with the most time first.
std::vector<PmGroup> pm_ranges(Session& session);
// The kernels that were long enough for samples; their intervals are all there is of PM_KERNEL.
std::vector<PmGroup> pm_kernels(Session& session);
// Of the kernels of each name, by device and name: their means, weighted by their time.
std::map<std::pair<std::int64_t, std::int64_t>, std::vector<WeightedValue>> read_pm_kernels(
    Session& session, const PmMetric& metric);

// Times without samples.
struct PmGaps {
  std::map<std::string, std::int64_t> by_reason;
  std::int64_t count = 0;
  std::int64_t time = 0;     // ns, of those whose length is known
  std::int64_t unknown = 0;  // how many have no length
};
std::map<std::int64_t, PmGaps> pm_gaps(Session& session);  // by device

}  // namespace gpuprof::report
