#include "libprof/metrics/sets.hpp"

#include <utility>

#include "schema/metric_sets.hpp"

namespace gpuprof::metrics {
namespace {

class SetReading {
 public:
  explicit SetReading(const Catalogue& catalogue) : catalogue_(catalogue) {}

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
      chosen_.metrics.push_back(catalogue_.metric(full));
      return true;
    }
    return false;
  }

  void leave_out(const std::string& name, const std::string& why) {
    chosen_.left_out[why].push_back(name);
  }

  const Catalogue& catalogue_;
  SetOnChip chosen_;
};

}  // namespace

SetOnChip set_on_chip(const Catalogue& catalogue, const schema::MetricSet& set) {
  SetReading reading(catalogue);
  for (const schema::SetMetric& metric : set.metrics) reading.add(metric);
  for (const schema::SetMetric& counter : set.counters) reading.add_counter(counter);
  return reading.take();
}

}  // namespace gpuprof::metrics
