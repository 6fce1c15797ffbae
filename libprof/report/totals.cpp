#include "libprof/report/totals.hpp"

namespace gpuprof::report {

Totals read_totals(Session& session, std::string_view kind, const std::string& key,
                   Validity validity) {
  Totals totals;
  if (!session.has(kind)) return totals;
  session.output().progress("reading CUPTI_ACTIVITY_KIND_" + std::string(kind));
  const bool keep = session.options().statistics;
  Oddities odd;
  auto rows = session.select(kind, {key, "start", "end"}, "WHERE " + session.filter(kind));
  while (rows.step()) {
    const std::int64_t start = rows.integer(1), end = rows.integer(2);
    if (start > 0 && end > start) {
      Total& total = totals[rows.integer(0)];
      total.add(end - start);
      if (keep) total.durations.push_back(end - start);
    } else if (start > 0 && end == start && validity == Validity::api_call) {
      totals[rows.integer(0)].add(0);
      ++odd.instant;
    } else if (start == 0 && end == 0 && validity == Validity::gpu_work) {
      ++odd.without_times;
    } else {
      ++odd.invalid;
    }
  }
  session.counted(kind, odd);
  return totals;
}

}  // namespace gpuprof::report
