#include "libprof/metrics/evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpuprof::metrics {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// Returns the number of the text, which is stored once.
std::uint16_t note(MeasuredValues& values, const std::string& text) {
  const auto found = std::ranges::find(values.notes, text);
  if (found == values.notes.end()) {
    values.notes.push_back(text);
    return static_cast<std::uint16_t>(values.notes.size());
  }
  return static_cast<std::uint16_t>(found - values.notes.begin() + 1);
}

// The values that a part of the device has, instead of the whole device's.
void scale(const cupti::HostChip& part, std::span<const std::uint8_t> image, std::size_t range,
           std::span<const char* const> counters, std::vector<double>& values) {
  std::vector<double> of_part(values.size());
  if (!part.evaluate(image, range, counters, of_part.data())) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(of_part[i])) values[i] = of_part[i];
  }
}

}  // namespace

MeasuredValues evaluate(const cupti::HostChip& chip, const GroupMetrics& group,
                        const wire::CounterData& data,
                        std::span<const cupti::HostChip* const> parts) {
  MeasuredValues result{.group = data.group,
                        .context = data.context,
                        .device = data.device,
                        .ranges = {},
                        .contexts = {},
                        .evaluated = {},
                        .names = data.names,
                        .notes = data.notes,
                        .metrics = group.numbers,
                        .values = {}};
  std::vector<const char*> counters;
  for (const Metric* metric : group.metrics) {
    for (const std::string& counter : metric->counters) counters.push_back(counter.c_str());
  }
  const std::span image(reinterpret_cast<const std::uint8_t*>(data.image.data()),
                        data.image.size());
  const std::size_t there = image.empty() ? 0 : chip.ranges(image);
  std::vector<double> read(counters.size());
  std::vector<double> values(group.metrics.size());
  for (std::size_t i = 0; i < data.ranges.size(); ++i) {
    wire::MeasuredRange range = data.ranges[i];
    if (!range.wanted) continue;
    std::ranges::fill(values, none);
    const std::uint32_t part = i < data.ran_on.size() ? data.ran_on[i] : 0;
    bool evaluated = false;
    if (range.note != 0) {
      // The image's numbers do not belong to this launch alone.
    } else if (image.empty()) {
      range.note = note(result, "nothing was collected");
    } else if (there != data.ranges.size()) {
      // It is unknown which range belongs to which launch.
      range.note = note(result, "CUPTI has " + std::to_string(there) + " ranges for " +
                                    std::to_string(data.ranges.size()) + " launches");
    } else if (!chip.evaluate(image, i, counters, read.data())) {
      range.note = note(result, "CUPTI could not evaluate the range");
    } else {
      if (part > 0 && part <= parts.size() && parts[part - 1]) {
        scale(*parts[part - 1], image, i, counters, read);
      }
      evaluated = true;
      std::size_t at = 0;
      std::string missing;
      for (std::size_t m = 0; m < group.metrics.size(); ++m) {
        const Metric& metric = *group.metrics[m];
        values[m] = metric.value(std::span(read).subspan(at, metric.counters.size()));
        at += metric.counters.size();
        if (!std::isfinite(values[m])) {
          values[m] = none;
          missing += (missing.empty() ? "" : ", ") + metric.name;
        }
      }
      if (!missing.empty()) range.note = note(result, "no number: " + missing);
    }
    result.ranges.push_back(range);
    result.evaluated.push_back(evaluated);
    result.contexts.push_back(part > 0 ? data.partitions[part - 1].context : data.context);
    result.values.insert(result.values.end(), values.begin(), values.end());
  }
  return result;
}

}  // namespace gpuprof::metrics
