// The metrics of a set (--set) on a chip.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "libprof/metrics/catalogue.hpp"

namespace gpuprof::schema {
struct MetricSet;
}

namespace gpuprof::metrics {

struct SetOnChip {
  std::vector<Metric> metrics;
  std::map<std::string, std::vector<std::string>> left_out;  // names by the reason
};

// `catalogue` is the chip's.
SetOnChip set_on_chip(const Catalogue& catalogue, const schema::MetricSet& set);

}  // namespace gpuprof::metrics
