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
  // The last so many are of units that not every board of the chip has: it may take the others
  // alone.
  std::size_t optional = 0;
};

// The chip counts samples: HostChip::counting(). What is sampled where nothing is named: how busy
// the GPU and its units are, memory, links, the clock. The first that fit; where samples are taken
// `often`, the few that are decoded in time.
SampledMetrics default_samples(const cupti::HostChip& chip, bool often = false);

// Samples are taken often at shorter intervals than this.
inline constexpr std::uint64_t not_often_ns = 100'000;

// What a device takes of these: each that can be counted together with those before it.
std::vector<Metric> that_fit(const cupti::HostChip& chip, std::span<const Metric> metrics);

// The metrics of these names, each once; `default` stands for the default set. Throws
// gpuprof::Error for a name that means nothing, and where they do not fit into one pass: the
// message has sets of them that do, the first as large as can be with the metrics in this order.
SampledMetrics checked_samples(const cupti::HostChip& chip, const std::vector<std::string>& names,
                               bool often = false);

// Throws as checked_samples() where they do not fit into one pass.
void check_one_pass(const cupti::HostChip& chip, std::span<const Metric> metrics);

// Every counter of these once.
std::vector<std::string> counters_of(std::span<const Metric> metrics);

}  // namespace gpuprof::metrics
