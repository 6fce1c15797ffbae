#include "libprof/compute/idle_times.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/saturating.hpp"

namespace gpuprof::compute {

void IdleTimes::restart() {
  launch_gaps_.emplace(waits_, kept_);
  ended_gaps_ = {};
  places_.clear();
  devices_.clear();
  blocks_.clear();
  near_gaps_ = {};
  near_windows_ = {};
}

std::size_t IdleTimes::add_place(std::int64_t device, const TimeBounds& window) {
  Place& its = places_.emplace_back();
  its.window = window;
  its.blocks.push_back(blocks_.size());
  blocks_.emplace_back();
  devices_[device].push_back(&its);
  return places_.size() - 1;
}

void IdleTimes::end_block(std::size_t place) {
  Place& its = places_[place];
  its.blocks.push_back(blocks_.size());
  its.ends.push_back(its.last);
  blocks_.emplace_back();
}

void IdleTimes::set_longest(std::size_t place, std::vector<Gap> gaps) {
  Place& its = places_[place];
  its.gaps = std::move(gaps);
  for (const Gap& gap : its.gaps) {
    near_gaps_.add({saturating_subtract(gap.begin, close_launches),
                    saturating_add(gap.end, close_launches + 1)});
  }
  if (bounded_) {
    const auto& [from, to] = its.window;
    near_windows_.add({saturating_subtract(*from, close_launches + 1), std::max(*to, its.last)});
  }
  const std::span<const Gap> all = its.gaps;
  std::vector<std::size_t> ends;
  for (const std::int64_t end : its.ends) {
    ends.push_back(
        static_cast<std::size_t>(std::ranges::upper_bound(all, end, {}, &Gap::end) - all.begin()));
  }
  ends.push_back(all.size());
  std::size_t first = 0;
  for (std::size_t block = 0; block < ends.size(); ++block) {
    DeviceIdle& idle = blocks_[its.blocks[block]];
    idle.gaps = all.subspan(first, ends[block] - first);
    first = ends[block];
  }
  its.host.emplace(all, std::move(ends));
}

// `call.launches` is not known yet: it takes longer to find.
void IdleTimes::add(HostCall call) {
  bool known = false;
  // A launch soon before or after a window may be close to one in it.
  const std::int64_t since = saturating_subtract(call.begin, close_launches + 1),
                     until = saturating_add(call.end, close_launches + 1);
  for (const auto& [device, places] : devices_) {
    const auto first = std::ranges::partition_point(
        places, [&](const Place* each) { return each->window.to && *each->window.to <= since; });
    for (auto its = first; its != places.end(); ++its) {
      Place& place = **its;
      if (place.window.from && *place.window.from >= until) break;
      if (!place.host->is_near_a_gap(call.begin, call.end)) continue;
      if (!known) {
        const std::int64_t id = call.correlation;
        call.launches = id != 0 && asked_for_.contains(id) && !waited_for_.contains(id);
        known = true;
      }
      const auto& [from, to] = place.window;
      const bool is_outside = (from && *from >= call.end) || (to && *to <= call.begin);
      if (is_outside && !call.launches) continue;
      place.host->add(call);
    }
  }
}

void IdleTimes::add(const Calls& calls) {
  launch_calls_.add(
      {.of_driver = calls.of_driver,
       .correlation = calls.correlation,
       .cbid = calls.cbid,
       .start = calls.start,
       .end = calls.end},
      asked_for_,
      bounded_ ? LaunchCalls::Wanted{&near_windows_, &ended_gaps_} : LaunchCalls::Wanted{});
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
  for (DeviceIdle& block : blocks_) block.others.set_longest(block.gaps);
  LaunchGaps::Join gaps(*launch_gaps_, waited_for_,
                        [&](std::size_t block) -> LaunchedGaps& { return blocks_[block].others; });
  launch_calls_.for_each([&](const LaunchCall& call) {
    gaps.take(call);
    if (each_call) each_call(call);
  });
  for (Place& place : places_) finish(place);
}

void IdleTimes::finish(Place& place) {
  for (const std::int64_t process : processes_) place.host->know(process);
  std::vector<std::optional<GapLaunch>> launches;
  for (const std::size_t number : place.blocks) {
    DeviceIdle& block = blocks_[number];
    block.others.launches.resize(block.gaps.size());
    launches.insert(launches.end(), block.others.launches.begin(), block.others.launches.end());
  }
  place.splits = place.host->finish(std::move(launches), &moments_);
  std::size_t first = 0;
  for (std::size_t i = 0; i < place.blocks.size(); ++i) {
    DeviceIdle& block = blocks_[place.blocks[i]];
    block.splits = std::span(place.splits).subspan(first, block.gaps.size());
    block.calls = &place.host->of(i);
    first += block.gaps.size();
  }
}

}  // namespace gpuprof::compute
