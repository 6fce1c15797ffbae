#include "libprof/read/step_times.hpp"

#include <algorithm>

#include "libprof/base/percentiles.hpp"

namespace gpuprof::reading {

StepSpread spread_of(std::vector<std::int64_t> times) {
  if (times.empty()) return {};
  const auto longest = std::ranges::max_element(times);
  StepSpread spread{.count = static_cast<std::int64_t>(times.size()),
                    .longest = *longest,
                    .longest_number = longest - times.begin() + 1};
  std::ranges::sort(times);
  spread.median = median(times.size(), [&](std::size_t i) { return times[i]; });
  return spread;
}

}  // namespace gpuprof::reading
