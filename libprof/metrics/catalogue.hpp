// The metrics of a chip by name: CUPTI's own, nvprof's as formulas over them, and nvprof's events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "schema/metric_kind.hpp"

namespace gpuprof::schema {
struct NvprofFormula;
}

namespace gpuprof::metrics {

class Formula;  // formula.hpp

// A requested metric, ready to be collected and computed.
struct Metric {
  std::string name;         // as requested
  std::string unit;         // of the value; nvprof's unit if the name is nvprof's
  std::string description;  // a sentence
  std::string formula;      // over the counters, including scaling
  // The counters requested from CUPTI: full names with roll-up, without duplicates, in the
  // formula's order.
  std::vector<std::string> counters;
  enum class Origin { cupti, nvprof_metric, nvprof_event } origin = Origin::cupti;
  std::shared_ptr<const Formula> computation;
  std::string note;  // if the value differs slightly from nvprof's; may be empty
  // How nvprof stores the value (schema::nvprof_bits) and under which id; no id: it does not.
  schema::MetricKind kind = schema::MetricKind::real;
  std::optional<std::int32_t> nvprof_id;

  // Computed from the counters' values, in their order. NaN if there is none. A level of 10 is not
  // rounded.
  double value(std::span<const double> values) const;
};

// A CUPTI metric without roll-up or sub-metric.
struct BaseMetric {
  std::string name;
  cupti::MetricType type{};
};

// Used by one thread, like the chip, which must outlive it.
class Catalogue {
 public:
  explicit Catalogue(const cupti::HostChip& chip) : chip_(chip) {}

  // Throws gpuprof::Error for a name that has no meaning on this chip: the hint has the nearest
  // names, or says why nvprof's name has no counterpart.
  Metric metric(const std::string& name) const;
  Metric event(const std::string& name) const;
  // Whether metric() has it.
  bool has_metric(const std::string& name) const;
  // "all" is every nvprof metric that this chip has. Duplicates are ignored.
  std::vector<Metric> metrics(const std::vector<std::string>& names) const;
  std::vector<Metric> events(const std::vector<std::string>& names) const;

  // The index of the first nvprof formula that this chip can collect; nullopt: none.
  std::optional<std::size_t> formula_for(const schema::NvprofFormula& metric) const;
  // nullopt if formula_for finds none.
  std::optional<Metric> nvprof_metric(const schema::NvprofFormula& metric,
                                      Metric::Origin origin) const;

  // All of CUPTI's, sorted by name.
  const std::vector<BaseMetric>& base_metrics() const;
  // By the name itself, or by a prefix that ends before one of its dots. Null: not found.
  const BaseMetric* find_base(std::string_view name) const;

 private:
  Metric cupti_metric(const std::string& name) const;
  [[noreturn]] void unknown(const std::string& name, Metric::Origin wanted) const;

  const cupti::HostChip& chip_;
  mutable std::vector<BaseMetric> bases_;  // read at first use
};

// Throws as Catalogue does for the first of these names that has no meaning on any chip known to
// CUPTI.
void check_names(const std::shared_ptr<const cupti::HostLibrary>& library,
                 const std::vector<std::string>& metrics, const std::vector<std::string>& events);

// The unit of a full name, from its base metric's dimension: "byte/s", "%" …; may be empty.
std::string unit_of(std::string_view name, std::string_view dimension);

}  // namespace gpuprof::metrics
