#include "libprof/compute/idle_times.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/saturating.hpp"

namespace gpuprof::compute {

void TimesNearGaps::add(std::span<const Gap> gaps) {
  for (const Gap& gap : gaps) {
    times_.push_back({saturating_subtract(gap.begin, close_launches), gap.end});
  }
}

void IdleTimes::restart() {
  launch_gaps_.emplace(waits_, kept_);
  ended_gaps_ = {};
  last_after_gap_ = 0;
  places_.clear();
  near_gaps_ = {};
  by_window_.assign(windows_.size(), {});
}

std::size_t IdleTimes::add_place(std::size_t window) {
  by_window_[window].push_back(&places_.emplace_back());
  return places_.size() - 1;
}

void IdleTimes::set_longest(std::size_t place, std::vector<Gap> gaps) {
  near_gaps_.add(gaps);
  Place& its = places_[place];
  its.idle.gaps = std::move(gaps);
  its.host.emplace(its.idle.gaps);
}

// `call.launches` is not known yet: it takes longer to find.
void IdleTimes::add(HostCall call) {
  bool known = false;
  const auto window = std::ranges::partition_point(
      windows_, [&](const TimeBounds& each) { return each.to && *each.to <= call.begin; });
  // A launch soon before a window may be close to one in it.
  const std::int64_t soon = saturating_add(call.end, close_launches + 1);
  for (auto its = window; its != windows_.end() && !(its->from && *its->from >= soon); ++its) {
    for (Place* place : by_window_[static_cast<std::size_t>(its - windows_.begin())]) {
      if (!place->host->is_near_a_gap(call.begin, call.end)) continue;
      if (!known) {
        const std::int64_t id = call.correlation;
        call.launches = id != 0 && asked_for_.contains(id) && !waited_for_.contains(id);
        known = true;
      }
      if (!call.launches && its->from && *its->from >= call.end) continue;
      place->host->add(call);
    }
  }
}

void IdleTimes::add(const Calls& calls) {
  LaunchCalls::Wanted wanted;
  if (is_bounded()) {
    wanted = {.from = saturating_subtract(*windows_.front().from, close_launches + 1),
              .to = std::max(*windows_.back().to, last_after_gap_),
              .also = &ended_gaps_};
  }
  launch_calls_.add({.of_driver = calls.of_driver,
                     .correlation = calls.correlation,
                     .cbid = calls.cbid,
                     .start = calls.start,
                     .end = calls.end},
                    asked_for_, wanted);
  const auto correlation = calls.correlation.int64s(), start = calls.start.int64s(),
             end = calls.end.int64s(), process = calls.process.int64s(), cbid = calls.cbid.int64s(),
             thread = calls.thread.int64s();
  for (std::size_t row = 0; row < correlation.size(); ++row) {
    if (!moments_.empty() && asked_for_.contains(correlation[row])) {
      moments_.add_launch(process[row], thread[row], start[row]);
    }
    if (start[row] <= 0 || end[row] <= start[row]) continue;
    if (process[row] != latest_process_) processes_.insert(process[row]);
    latest_process_ = process[row];
    // Most calls are far from all gaps.
    if (!near_gaps_.have(start[row], end[row])) continue;
    add(HostCall{.process = process[row],
                 .begin = start[row],
                 .end = end[row],
                 .correlation = correlation[row],
                 .function = function_number(calls.of_driver, cbid[row])});
  }
}

void IdleTimes::finish(const std::function<void()>& check,
                       const std::function<void(const LaunchCall&)>& each_call) {
  moments_.find(check);
  for (Place& place : places_) place.idle.others.set_longest(place.idle.gaps);
  LaunchGaps::Join gaps(*launch_gaps_, waited_for_, [&](std::size_t place) -> LaunchedGaps& {
    return places_[place].idle.others;
  });
  launch_calls_.for_each([&](const LaunchCall& call) {
    gaps.take(call);
    if (each_call) each_call(call);
  });
  for (Place& place : places_) {
    for (const std::int64_t process : processes_) place.host->know(process);
    auto& launches = place.idle.others.launches;
    launches.resize(place.idle.gaps.size());
    place.idle.splits = place.host->finish(std::move(launches), &moments_);
    place.idle.parts = place.host->parts();
    place.idle.away = place.host->away();
  }
}

}  // namespace gpuprof::compute
