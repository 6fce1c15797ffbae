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
  std::string note;  // where the value is not quite nvprof's; may be empty
  // How nvprof stores the value (schema::nvprof_bits) and under which id; no id: it does not.
  schema::MetricKind kind = schema::MetricKind::real;
  std::optional<std::int32_t> nvprof_id;

  // From the counters' values, in their order. NaN where it has none. A level of 10 is not rounded.
  double value(std::span<const double> values) const;
};

// A metric of CUPTI's without roll-up or sub-metric.
struct BaseMetric {
  std::string name;
  cupti::MetricType type{};
};

// Belongs to one thread, like the chip, which must outlive it.
class Catalogue {
 public:
  explicit Catalogue(const cupti::HostChip& chip) : chip_(chip) {}

  // Throws gpuprof::Error for a name that means nothing on this chip: the hint has the nearest
  // ones, or says why nvprof's name has no counterpart.
  Metric metric(const std::string& name) const;
  Metric event(const std::string& name) const;
  // "all" is every metric of nvprof's that this chip has. Each name is taken once.
  std::vector<Metric> metrics(const std::vector<std::string>& names) const;
  std::vector<Metric> events(const std::vector<std::string>& names) const;

  // The first of nvprof's formulas that this chip can collect, counted from 0; nothing: none.
  std::optional<std::size_t> formula_for(const schema::NvprofFormula& metric) const;
  // Nothing where formula_for finds nothing.
  std::optional<Metric> nvprof_metric(const schema::NvprofFormula& metric,
                                      Metric::Origin origin) const;

  // All of CUPTI's, sorted by name.
  const std::vector<BaseMetric>& base_metrics() const;
  // By the name itself, or by what stands before one of its dots. Null: there is none.
  const BaseMetric* find_base(std::string_view name) const;

 private:
  Metric cupti_metric(const std::string& name) const;
  [[noreturn]] void unknown(const std::string& name, Metric::Origin wanted) const;

  const cupti::HostChip& chip_;
  mutable std::vector<BaseMetric> bases_;  // read when first asked for
};

// Throws what Catalogue does for the first of these names that means nothing on any chip that CUPTI
// knows.
void check_names(const std::shared_ptr<const cupti::HostLibrary>& library,
                 const std::vector<std::string>& metrics, const std::vector<std::string>& events);

// The unit of a full name, from its base metric's dimension: "byte/s", "%" …; may be empty.
std::string unit_of(std::string_view name, std::string_view dimension);

}  // namespace gpuprof::metrics
