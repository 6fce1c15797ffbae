// What a chip can measure, for --query-metrics and --query-events.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libprof/metrics/catalogue.hpp"

namespace gpuprof::metrics {

struct ListingOptions {
  bool metrics = false;
  bool events = false;
  cupti::Counting counting = cupti::Counting::ranges;
  std::string filter;  // text or regular expression to find in names; empty: all
};

// An nvprof name on this chip.
struct NvprofRow {
  const schema::NvprofFormula* formula;
  std::optional<Metric> metric;  // nullopt: the chip does not have it
};

struct BaseRow {
  BaseMetric metric;
  cupti::MetricProperties properties;
  std::optional<std::size_t>
      passes;  // of its usual roll-up; nullopt: not requested, or unavailable
};

struct Listing {
  std::string chip;
  std::vector<NvprofRow> metrics;
  std::vector<NvprofRow> events;
  std::vector<BaseRow> bases;
  std::vector<std::string> usual_samples;  // sampled by default
};

// Throws gpuprof::Error if no name matches.
Listing list(const std::shared_ptr<const cupti::HostLibrary>& library, const std::string& chip,
             const ListingOptions& options);

// The roll-up for which passes are reported.
std::string usual(const BaseMetric& metric);

// How often a kernel must run for all of these; nullopt: they cannot be collected, or it is unknown
// (HostChip::is_recorded()).
std::optional<std::size_t> passes(const cupti::HostChip& chip,
                                  const std::vector<std::string>& names);

}  // namespace gpuprof::metrics
