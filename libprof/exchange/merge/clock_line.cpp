#include "libprof/exchange/merge/clock_line.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace gpuprof::merging {
namespace {

// Below it drift is not known: the clocks are read to within a few us.
constexpr std::int64_t least_span = 1'000'000'000;
// More is no drift of a clock.
constexpr double most_drift = 1e-3;
constexpr std::int64_t last_time = std::int64_t{1} << 62;

std::optional<ClockPair::Moment> moment(store::Database& database, const char* order) {
  store::Statement found = database.prepare(
      "SELECT cupti, realtime FROM CLOCK WHERE typeof(cupti) = 'integer' AND typeof(realtime) = "
      "'integer' AND cupti BETWEEN 1 AND " +
      std::to_string(last_time) + " AND realtime BETWEEN 1 AND " + std::to_string(last_time) +
      " ORDER BY cupti " + order + " LIMIT 1");
  if (!found.step()) return std::nullopt;
  return ClockPair::Moment{found.integer(0), found.integer(1)};
}

double slope(const ClockPair& pair) {  // of the time of day, minus 1
  const std::int64_t span = pair.last.cupti - pair.first.cupti;
  if (span < least_span) return 0;
  const double drift = static_cast<double>(pair.last.realtime - pair.first.realtime - span) /
                       static_cast<double>(span);
  return std::abs(drift) > most_drift ? 0 : drift;
}

}  // namespace

std::optional<ClockPair> read_clocks(store::Database& database) {
  const auto first = moment(database, "ASC"), last = moment(database, "DESC");
  if (!first || !last) return std::nullopt;
  return ClockPair{.first = *first,
                   .last = *last,
                   .error = database.integer("SELECT max(realtimeError) FROM CLOCK")};
}

ClockLine::ClockLine(const ClockPair& from, const ClockPair& to) : same_(false) {
  const double to_slope = slope(to);
  // The moment of `to` that has the time of day of from.first.
  const std::int64_t later = from.first.realtime - to.first.realtime;
  const std::int64_t moved =
      to.first.cupti + later - std::llround(static_cast<double>(later) * to_slope / (1 + to_slope));
  origin_ = from.first.cupti;
  offset_ = moved - origin_;
  drift_ = (1 + slope(from)) / (1 + to_slope) - 1;
}

std::int64_t ClockLine::moved(std::int64_t time) const {
  if (same_ || time <= 0 || time > last_time) return time;
  const double since = static_cast<double>(time - origin_);
  return std::max<std::int64_t>(1, time + offset_ + std::llround(since * drift_));
}

}  // namespace gpuprof::merging
