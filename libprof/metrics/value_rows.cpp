#include "libprof/metrics/value_rows.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "schema/measured.hpp"
#include "schema/nvprof_ids.hpp"

namespace gpuprof::metrics {
namespace {

// Used if a value is not a number and evaluation did not say why.
constexpr std::string_view no_number = "its counters gave no number";

// `number` is an index into `texts`, from 1; 0: none.
std::string_view text(const std::vector<std::string>& texts, std::uint32_t number) {
  return number == 0 ? std::string_view() : texts.at(number - 1);
}

}  // namespace

void ValueRows::add(const MeasuredValues& values, std::span<const Metric* const> metrics) {
  for (std::size_t i = 0; i < values.ranges.size(); ++i) {
    const wire::MeasuredRange& range = values.ranges[i];
    if (range.wanted == 0) continue;
    const auto of_range = std::span(values.values).subspan(i * metrics.size(), metrics.size());
    const bool complete = !of_range.empty() && std::ranges::none_of(of_range, [](double value) {
      return std::isnan(value);
    });
    const std::string_view note = text(values.notes, range.note);
    sender_.add<schema::MetricRange>(
        {.number = ++last_range_,
         .group = values.group,
         .device = values.device,
         .context = values.contexts.empty() ? values.context : values.contexts[i],
         .name = text(values.names, range.name),
         .note = note.empty() && !complete ? no_number : note,
         .range = range});
    for (std::size_t j = 0; j < metrics.size(); ++j) {
      if (!std::isnan(of_range[j])) {
        add_value(range, values.metrics[j], *metrics[j], of_range[j]);
      }
    }
  }
}

void ValueRows::add_value(const wire::MeasuredRange& range, std::uint32_t number,
                          const Metric& metric, double value) {
  sender_.add<schema::MetricValue>({.range = last_range_, .metric = number, .value = value});
  const bool of_kernel = range.kind == wire::RangeKind::kernel && range.correlation != 0;
  if (!of_kernel || !metric.nvprof_id) return;
  const auto bits = schema::nvprof_bits(metric.kind, value);
  if (!bits) return;
  const schema::NvprofValue row{.id = static_cast<std::uint32_t>(*metric.nvprof_id),
                                .bits = *bits,
                                .correlation = range.correlation};
  if (metric.origin == Metric::Origin::nvprof_event) {
    sender_.add<schema::NvprofEventRow>(row);
  } else {
    sender_.add<schema::NvprofMetricRow>(row);
  }
}

}  // namespace gpuprof::metrics
