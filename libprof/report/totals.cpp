#include "libprof/report/totals.hpp"

namespace gpuprof::report {

Totals read_totals(Session& session, std::string_view kind, const std::string& key,
                   Validity validity) {
  Totals totals;
  if (!session.has(kind)) return totals;
  session.output().progress("reading CUPTI_ACTIVITY_KIND_" + std::string(kind));
  store::TimeTotals read = store::totals_by_key(
      session.snapshot(), "CUPTI_ACTIVITY_KIND_" + std::string(kind),
      {.key = key, .where = session.filter(kind), .durations = session.options().statistics});
  for (auto& [value, total] : read.by_key) {
    totals[value] = {.calls = total.count,
                     .time = total.sum,
                     .min = total.min,
                     .max = total.max,
                     .durations = std::move(total.durations)};
  }
  Oddities odd{.without_times = read.without_times, .invalid = read.invalid};
  for (const auto& [value, calls] : read.instant) {
    if (validity == Validity::api_call) {
      for (std::int64_t i = 0; i < calls; ++i) totals[value].add(0);
      odd.instant += calls;
    } else {
      odd.invalid += calls;
    }
  }
  if (validity == Validity::api_call) {
    odd.invalid += odd.without_times;
    odd.without_times = 0;
  }
  session.counted(kind, odd);
  return totals;
}

}  // namespace gpuprof::report
