#include "libprof/compute/launch_gaps.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::compute {
namespace {

// Null: it is not among the longest.
std::optional<GapLaunch>* find_longest(LaunchedGaps& device, std::int64_t begin,
                                       std::int64_t length) {
  if (length < device.shortest) return nullptr;
  const auto gap = std::ranges::lower_bound(device.longest, begin, {}, &Gap::begin);
  if (gap == device.longest.end() || gap->begin != begin) return nullptr;
  device.launches.resize(device.longest.size());
  return &device.launches[static_cast<std::size_t>(gap - device.longest.begin())];
}

// Divides a gap in which calls are not looked at.
void add_shorter(LaunchedGaps& device, std::int64_t begin, std::int64_t end,
                 const GapLaunch& launch, std::int64_t launching_since) {
  IdleParts& parts = device.shorter;
  const auto within = [&](std::int64_t time) { return std::clamp(time, begin, end); };
  const std::int64_t since = within(launching_since), call = within(launch.begin),
                     arrival = within(launch.arrival);
  parts.between_launches.add(call - since);
  if (arrival > call) parts.launches[launch.function].add(arrival - call);
  (launch.for_event ? parts.queued_for_event : parts.queued).add(end - arrival);
  device.explained += since == begin;
}

}  // namespace

void LaunchedGaps::set_longest(std::span<const Gap> gaps) {
  longest = gaps;
  shortest = LaunchGaps::most_divided;
  for (const Gap& gap : gaps) shortest = std::min(shortest, gap.length());
}

void StreamWaits::read(store::Snapshot& snapshot, const std::function<void()>& check) {
  constexpr std::int64_t for_event = 2;  // CUpti_ActivitySynchronizationType
  columns::Reader reader(
      snapshot, {.table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                 .columns = {"correlationId", "processId", "contextId", "streamId", "type"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (whole(chunk[4], row) != for_event) continue;
      const std::int64_t stream = whole(chunk[2], row) << 32 | (whole(chunk[3], row) & 0xffffffff);
      waits_[{whole(chunk[1], row), stream}].push_back(whole(chunk[0], row));
    }
  });
  for (auto& [stream, ids] : waits_) std::ranges::sort(ids);
}

bool StreamWaits::ended(const Gap& gap) const {
  const GpuWork &before = gap.before, &after = gap.behind;
  if (waits_.empty() || before.process != after.process || before.stream == after.stream) {
    return false;
  }
  const auto its = waits_.find({after.process, after.stream});
  if (its == waits_.end()) return false;
  const auto wait = std::ranges::lower_bound(its->second, before.correlation);
  return wait != its->second.end() && *wait < after.correlation;
}

void LaunchGaps::add(std::size_t block, const Gap& gap) {
  if (gap.behind.correlation == 0) return;
  gaps_.emplace(gap.behind.correlation, gap.begin,
                static_cast<std::uint64_t>(std::min(gap.length(), most_divided)),
                std::uint64_t{waits_.ended(gap)}, std::uint64_t{block});
}

void LaunchGaps::Launching::add(const LaunchCall& call) {
  const std::int64_t its = call.correlation >> 32;
  if (its != process || call.begin > saturating_add(until, close_launches)) since = call.begin;
  since = std::min(since, call.begin);
  until = its == process ? std::max(until, call.end) : call.end;
  process = its;
}

void LaunchGaps::Join::take(const LaunchCall& call) {
  const bool is_launch =
      call.begin > 0 && call.end > call.begin && !waited_for_.contains(call.correlation);
  if (is_launch) launching_.add(call);
  while (!gap_.at_end() && gap_.front().correlation < call.correlation) gap_.advance();
  for (; !gap_.at_end() && gap_.front().correlation == call.correlation; gap_.advance()) {
    if (!is_launch) continue;
    const Launched& its = gap_.front();
    const GapLaunch launch{.begin = call.begin,
                           .arrival = saturating_add(call.end, launch_latency),
                           .function = call.function,
                           .for_event = its.for_event == 1};
    LaunchedGaps& device = of_(its.block);
    const auto length = static_cast<std::int64_t>(its.length);
    if (auto* longest = find_longest(device, its.begin, length)) {
      *longest = launch;
    } else {
      add_shorter(device, its.begin, its.begin + length, launch, launching_.since);
    }
  }
}

}  // namespace gpuprof::compute
