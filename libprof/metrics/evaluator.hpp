// Evaluates counter data images to metric values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/plan.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::metrics {

// What a group's images are evaluated to.
struct GroupMetrics {
  std::vector<const Metric*> metrics;
  std::vector<std::uint32_t> numbers;  // the metrics' numbers in the run, from 1
};

// Values, and what they belong to. values[i * metrics.size() + j] is for range i and metric
// metrics[j]; NaN: none, and the range's note says why.
struct MeasuredValues {
  std::uint32_t group{};
  std::uint32_t context{};
  std::uint32_t device{};
  std::vector<wire::MeasuredRange> ranges;
  // Of the ranges: `context`, or the green one they ran in; empty: `context` for all.
  std::vector<std::uint32_t> contexts;
  std::vector<bool> evaluated;  // of the ranges: CUPTI answered, if only with NaN
  std::vector<std::string> names;
  std::vector<std::string> notes;
  std::vector<std::uint32_t> metrics;
  std::vector<double> values;
};

// Reads `data` with the CUPTI version that wrote it: another version silently reads different
// numbers from an image (measured). Unwanted ranges are left out. An unavailable value is NaN, and
// the range's note says why. `parts`: the chip as each of data.partitions has it; null: not known.
// Units outside of multiprocessors belong to no part: their values are the whole device's.
MeasuredValues evaluate(const cupti::HostChip& chip, const GroupMetrics& group,
                        const wire::CounterData& data,
                        std::span<const cupti::HostChip* const> parts = {});

}  // namespace gpuprof::metrics
