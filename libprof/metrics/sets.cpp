#include "libprof/metrics/sets.hpp"

#include <optional>

#include "libprof/metrics/listing.hpp"
#include "schema/metric_sets.hpp"

namespace gpuprof::metrics {
namespace {

class SetReading {
 public:
  SetReading(const cupti::HostChip& chip, const Catalogue& catalogue, bool one_pass)
      : chip_(chip), catalogue_(catalogue), one_pass_(one_pass) {}

  void add(const schema::SetMetric& wanted) {
    if (add_first(wanted)) return;
    leave_out(std::string(wanted.name),
              wanted.lacking.empty() ? "this chip does not count it" : std::string(wanted.lacking));
  }

  // A chip that lacks it does not have what it counts.
  void add_counter(const schema::SetMetric& wanted) {
    add_first(wanted, schema::sets::sum);
    add_first(wanted, schema::sets::of_peak);
  }

  SetOnChip take() { return std::move(chosen_); }

 private:
  bool add_first(const schema::SetMetric& wanted, std::string_view roll_up = {}) {
    for (const std::string_view name : {wanted.name, wanted.otherwise}) {
      const std::string full = std::string(name).append(roll_up);
      if (name.empty() || !catalogue_.has_metric(full)) continue;
      add_metric(full);
      return true;
    }
    return false;
  }

  void add_metric(const std::string& name) {
    Metric metric = catalogue_.metric(name);
    const std::size_t needed = one_pass_ ? passes(chip_, metric.counters).value_or(1) : 1;
    if (needed == 1) {
      chosen_.metrics.push_back(std::move(metric));
    } else {
      leave_out(name, std::to_string(needed) + " passes are needed");
    }
  }

  void leave_out(const std::string& name, const std::string& why) {
    chosen_.left_out[why].push_back(name);
  }

  const cupti::HostChip& chip_;
  const Catalogue& catalogue_;
  const bool one_pass_;
  SetOnChip chosen_;
};

}  // namespace

SetOnChip set_on_chip(const cupti::HostChip& chip, const Catalogue& catalogue,
                      const schema::MetricSet& set, bool one_pass) {
  SetReading reading(chip, catalogue, one_pass);
  for (const schema::SetMetric& metric : set.metrics) reading.add(metric);
  for (const schema::SetMetric& counter : set.counters) reading.add_counter(counter);
  return reading.take();
}

}  // namespace gpuprof::metrics
