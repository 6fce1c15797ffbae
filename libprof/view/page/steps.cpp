// The steps of a report, in order of time.
#include <algorithm>
#include <utility>

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
      " FROM main.STEP AS s WHERE stop > start AND start >= ?1 AND start < ?2 AND " +
      reading::is_of_main_process + " ORDER BY start LIMIT 1000000");
  rows.bind(1, window.from).bind(2, window.to);
  std::vector<std::int64_t> times;
  while (rows.step()) {
    const std::int64_t time = saturating_subtract(rows.integer(1), rows.integer(0));
    times.push_back(time);
    if (result.all.size() == most_drawn) continue;
    result.all.push_back(
        {.name = rows.integer(2) ? names.text(rows.integer(2)) : std::string("cudaProfilerStart"),
         .begin = saturating_subtract(rows.integer(0), model.zero),
         .time = time,
         .busy = std::max<std::int64_t>(rows.integer(3), 0)});
  }
  result.spread = reading::spread_of(std::move(times));
  return result;
}

}  // namespace gpuprof::view
