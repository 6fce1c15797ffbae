// Counter data images to values of metrics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/plan.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::metrics {

// What a group's images are evaluated to.
struct GroupMetrics {
  std::vector<const Metric*> metrics;
  std::vector<std::uint32_t> numbers;  // of the metrics in the run, from 1
};

// Reads `data` with the CUPTI that wrote it: another version reads other numbers out of an image
// and says nothing (measured). Ranges that were not asked for are left out. A value that cannot be
// had is NaN, and the range's note says why.
wire::MetricValues evaluate(const cupti::HostChip& chip, const GroupMetrics& group,
                            const wire::CounterData& data);

}  // namespace gpuprof::metrics
