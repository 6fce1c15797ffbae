// Which metrics are sampled together over time: PM sampling reads its counters in one pass, so they
// have to fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "libprof/metrics/catalogue.hpp"

namespace gpuprof::metrics {

// The word for the default set in a list of metrics.
inline constexpr std::string_view default_samples_word = "default";

struct SampledMetrics {
  std::vector<std::string> names;
  // This many at the end belong to units that not every board of the chip has: it may accept only
  // the others.
  std::size_t optional = 0;
};

// The default samples: how busy the GPU and its units are, memory, links, the clock. The first ones
// that fit; if samples are taken `often`, the few that are decoded in time. Requires a chip that
// counts samples: HostChip::counting().
SampledMetrics default_samples(const cupti::HostChip& chip, bool often = false);

// Samples are taken often if the interval is shorter than this.
inline constexpr std::uint64_t not_often_ns = 100'000;

// What a device accepts of these: each that can be counted together with those before it.
std::vector<Metric> that_fit(const cupti::HostChip& chip, std::span<const Metric> metrics);

// The metrics of these names, without duplicates; `default` means the default set. Throws
// gpuprof::Error for an unknown name, and if they do not fit into one pass: the message lists sets
// that do, the first as large as possible with the metrics in this order.
SampledMetrics checked_samples(const cupti::HostChip& chip, const std::vector<std::string>& names,
                               bool often = false);

// Throws like checked_samples() if they do not fit into one pass.
void check_one_pass(const cupti::HostChip& chip, std::span<const Metric> metrics);

// The counters of these metrics, without duplicates.
std::vector<std::string> counters_of(std::span<const Metric> metrics);

}  // namespace gpuprof::metrics
