#include "libprof/derive/launch_ranges.hpp"

#include <algorithm>

namespace gpuprof::derive {

void LaunchRanges::add(std::int64_t correlation, std::optional<RangeIndex::Match> match) {
  const auto [range, by_thread] = match.value_or(RangeIndex::Match());
  known_.add(correlation);
  calls_.add({correlation, range, by_thread});
}

void LaunchRanges::write(store::Database& database) {
  store::Statement insert = database.prepare("INSERT INTO main.LAUNCH_RANGE VALUES(?1, ?2, ?3)");
  calls_.for_each([&](const Call& call) {
    if (!runs_.empty() && runs_.back().last == call.correlation) return;
    if (!runs_.empty() && runs_.back().range == call.range) {
      runs_.back().last = call.correlation;
    } else {
      runs_.push_back({call.correlation, call.correlation, call.range});
    }
    if (call.range == 0) return;
    insert.bind(1, call.correlation)
        .bind(2, call.range)
        .bind(3, std::int64_t{call.by_thread})
        .run();
  });
}

std::int64_t LaunchRanges::range_of(std::int64_t correlation) const {
  if (!known_.contains(correlation)) return 0;
  const auto holds = [&](std::size_t place) {
    return place < runs_.size() && runs_[place].first <= correlation &&
           correlation <= runs_[place].last;
  };
  if (!holds(latest_)) {
    const auto found = std::ranges::lower_bound(runs_, correlation, {}, &Run::last);
    const auto place = static_cast<std::size_t>(found - runs_.begin());
    if (!holds(place)) return 0;
    latest_ = place;
  }
  return runs_[latest_].range;
}

}  // namespace gpuprof::derive
