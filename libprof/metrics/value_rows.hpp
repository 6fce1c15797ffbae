// Metric values as rows: METRIC_RANGE, METRIC_VALUE, and nvprof's METRIC and EVENT for values that
// have an nvprof id.
#pragma once

#include <cstdint>
#include <span>

#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/evaluator.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::metrics {

// Used by one thread.
class ValueRows {
 public:
  // `metrics` corresponds to values.metrics, in order. Unwanted ranges are left out.
  void add(const MeasuredValues& values, std::span<const Metric* const> metrics);
  // The rows added so far, as frames of the process's stream.
  std::vector<wire::Frame> take(std::uint32_t stream) { return sender_.take(stream); }

 private:
  void add_value(const wire::MeasuredRange& range, std::uint32_t number, const Metric& metric,
                 double value);

  wire::RowSender sender_;
  std::uint64_t last_range_ = 0;
};

}  // namespace gpuprof::metrics
