// The steps of a report, in order of time.
#include <algorithm>

#include "libprof/base/percentiles.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {

StepTimes read_step_times(store::Database& database, const Model& model, const Window& window) {
  constexpr std::size_t most_drawn = 400;
  StepTimes result;
  reading::Tables tables(database);
  for (const char* column : {"start", "stop", "name", "busy", "range", "processId"}) {
    if (!tables.has("STEP", column)) return result;
  }
  const std::string busy =
      tables.has("RANGE_TIME", "busy") && tables.has("RANGE_TIME", "range")
          ? "coalesce(busy, (SELECT max(t.busy) FROM main.RANGE_TIME AS t WHERE t.range = s.range))"
          : "busy";
  reading::Names names(database, reading::NameStyle::modern);
  auto rows = database.prepare(
      "SELECT start, stop, coalesce(name, 0), " + busy +
      " FROM main.STEP AS s WHERE stop > start AND start >= ?1 AND start < ?2 AND processId = "
      "(SELECT processId FROM main.STEP GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1) "
      "ORDER BY start LIMIT 1000000");
  rows.bind(1, window.from).bind(2, window.to);
  std::vector<std::int64_t> times;
  while (rows.step()) {
    const std::int64_t time = saturating_subtract(rows.integer(1), rows.integer(0));
    times.push_back(time);
    if (time > result.longest) {
      result.longest = time;
      result.longest_number = static_cast<std::int64_t>(times.size());
    }
    if (result.all.size() == most_drawn) continue;
    result.all.push_back(
        {.name = rows.integer(2) ? names.text(rows.integer(2)) : std::string("cudaProfilerStart"),
         .begin = saturating_subtract(rows.integer(0), model.zero),
         .time = time,
         .busy = std::max<std::int64_t>(rows.integer(3), 0)});
  }
  result.count = static_cast<std::int64_t>(times.size());
  if (times.empty()) return result;
  std::ranges::sort(times);
  result.median = median(times.size(), [&](std::size_t i) { return times[i]; });
  return result;
}

}  // namespace gpuprof::view
