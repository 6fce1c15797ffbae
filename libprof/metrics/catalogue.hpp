// The metrics of a chip by name: CUPTI's own, nvprof's as formulas over them, and nvprof's events.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/cupti/host.hpp"

namespace gpuprof::metrics {

class Formula;  // formula.hpp

// Something that was asked for, ready to be collected and computed.
struct Metric {
  std::string name;         // as asked for
  std::string unit;         // of the value, as nvprof has it where the name is nvprof's
  std::string description;  // a sentence
  std::string formula;      // over the counters, scaling included
  // What CUPTI is asked for: full names with roll-up, each once, in the order the formula has them.
  std::vector<std::string> counters;
  enum class Origin { cupti, nvprof_metric, nvprof_event } origin = Origin::cupti;
  std::shared_ptr<const Formula> computation;

  // From the counters' values, in their order. NaN where it has none.
  double value(std::span<const double> counters) const;
};

// Belongs to one thread, like the chip, which must outlive it.
class Catalogue {
 public:
  explicit Catalogue(const cupti::HostChip& chip) : chip_(chip) {}

  // Throws gpuprof::Error for a name that means nothing on this chip: the hint has the nearest
  // ones, or says why nvprof's name has no counterpart.
  Metric metric(const std::string& name) const;
  Metric event(const std::string& name) const;
  // "all" is every metric of nvprof's that this chip has.
  std::vector<Metric> metrics(const std::vector<std::string>& names) const;
  std::vector<Metric> events(const std::vector<std::string>& names) const;

 private:
  const cupti::HostChip& chip_;
};

}  // namespace gpuprof::metrics
