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
  std::string filter;  // text or a regular expression that names have in them; empty: all
};

// A name of nvprof's on the chip in question.
struct NvprofRow {
  const schema::NvprofFormula* formula;
  std::optional<Metric> metric;  // nothing: the chip does not have it
};

struct BaseRow {
  BaseMetric metric;
  cupti::MetricProperties properties;
  std::optional<std::size_t>
      passes;  // of its usual roll-up; nothing: not asked for, or not to be had
};

struct Listing {
  std::string chip;
  std::vector<NvprofRow> metrics;
  std::vector<NvprofRow> events;
  std::vector<BaseRow> bases;
  std::vector<std::string> usual_samples;  // what is sampled where nothing is named
};

// Throws gpuprof::Error where nothing is of that name.
Listing list(const std::shared_ptr<const cupti::HostLibrary>& library, const std::string& chip,
             const ListingOptions& options);

// The roll-up that passes are told of.
std::string usual(const BaseMetric& metric);

// How often a kernel has to run for all of these; nothing: they cannot be collected, or that is
// not known (HostChip::is_recorded()).
std::optional<std::size_t> passes(const cupti::HostChip& chip,
                                  const std::vector<std::string>& names);

}  // namespace gpuprof::metrics
