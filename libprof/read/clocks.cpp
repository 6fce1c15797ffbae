#include "libprof/read/clocks.hpp"

#include <string>

#include "libprof/base/saturating.hpp"
#include "libprof/read/tables.hpp"

namespace gpuprof::reading {
namespace {

std::optional<std::int64_t> converted(store::Database& database, const std::string& from,
                                      const std::string& to, std::int64_t time,
                                      std::chrono::nanoseconds nearest) {
  Tables tables(database);
  if (!tables.has("CLOCK", "realtime") || !tables.has("CLOCK", "cupti")) return {};
  store::Statement row = database.prepare(
      "SELECT " + from + ", " + to +
      " FROM main.CLOCK WHERE typeof(realtime) = 'integer' AND typeof(cupti) = 'integer' AND "
      "realtime > 0 AND cupti > 0 ORDER BY abs(" +
      from + " - ?1 + 0.0) LIMIT 1");
  row.bind(1, time);
  if (!row.step()) return {};
  const std::int64_t past = saturating_subtract(time, row.integer(0));
  if (past > nearest.count() || past < -nearest.count()) return {};
  return saturating_add(row.integer(1), past);
}

}  // namespace

std::optional<std::int64_t> on_cuptis_clock(store::Database& database, std::int64_t realtime,
                                            std::chrono::nanoseconds nearest) {
  return converted(database, "realtime", "cupti", realtime, nearest);
}

std::optional<std::int64_t> time_of_day(store::Database& database, std::int64_t cupti,
                                        std::chrono::nanoseconds nearest) {
  return converted(database, "cupti", "realtime", cupti, nearest);
}

}  // namespace gpuprof::reading
