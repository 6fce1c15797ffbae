#include "libprof/metrics/means.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace gpuprof::metrics {

bool Means::is_tight(const Known& known) {
  constexpr std::uint64_t fewest = 8;
  constexpr double error = 0.01;
  if (known.launches < fewest) return false;
  const auto n = static_cast<double>(known.launches);
  return std::ranges::all_of(known.means, [&](const Mean& one) {
    return std::sqrt(one.squares / (n - 1) / n) <= error * std::abs(one.mean);
  });
}

std::vector<KernelShape> Means::add(std::uint32_t process, const MeasuredValues& values) {
  std::vector<KernelShape> tight;
  const std::size_t width = values.metrics.size();
  for (std::size_t i = 0; i < values.ranges.size(); ++i) {
    const wire::MeasuredRange& range = values.ranges[i];
    const auto row = std::span(values.values).subspan(i * width, width);
    if (range.name == 0 || std::ranges::any_of(row, [](double v) { return std::isnan(v); })) {
      continue;
    }
    KernelShape shape{values.names[range.name - 1], {}};
    std::copy_n(range.grid, 3, shape.size.begin());
    std::copy_n(range.block, 3, shape.size.begin() + 3);
    Known& known = known_[{process, values.context, values.group, shape}];
    known.means.resize(width);
    ++known.launches;
    for (std::size_t m = 0; m < width; ++m) {
      Mean& one = known.means[m];
      const double difference = row[m] - one.mean;
      one.mean += difference / static_cast<double>(known.launches);
      one.squares += difference * (row[m] - one.mean);
    }
    if (known.told || !is_tight(known)) continue;
    known.told = true;
    tight.push_back(std::move(shape));
  }
  return tight;
}

}  // namespace gpuprof::metrics
