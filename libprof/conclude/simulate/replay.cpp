#include "libprof/conclude/simulate/replay.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <string_view>
#include <utility>

#include "libprof/base/large_vector.hpp"
#include "libprof/base/percentiles.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/conclude/simulate/cuts.hpp"
#include "schema/traits.hpp"

namespace gpuprof::simulate {
namespace {

// A moment as it was recorded and as it is now. 0: not known.
struct Both {
  std::int64_t recorded = 0, now = 0;

  void wait_for(const Both& other) {
    recorded = std::max(recorded, other.recorded);
    now = std::max(now, other.now);
  }
};

// Work that others wait for: of a stream, or of copies in one direction.
class Queue {
 public:
  void add(const Both& end) {
    running_.push_back(end);
    std::ranges::push_heap(running_, later);
  }
  // When all of it was over that was over at the recorded time; those must not decrease.
  const Both& over(std::int64_t time) {
    while (!running_.empty() && running_.front().recorded <= time) {
      over_.wait_for(running_.front());
      std::ranges::pop_heap(running_, later);
      running_.pop_back();
    }
    return over_;
  }

 private:
  static bool later(const Both& a, const Both& b) { return a.recorded > b.recorded; }

  std::vector<Both> running_;  // a heap, the earliest end first
  Both over_;
};

// What is known of a device's time so far.
struct Extent {
  std::int64_t first_begin = INT64_MAX, last_end = 0;  // recorded
  std::int64_t now_begin = INT64_MAX, now_end = 0;
  bool until_the_end = false;  // work runs when the window ends
};

class Replay {
 public:
  Replay(const Schedule& schedule, const Change& change)
      : schedule_(schedule),
        change_(change),
        cuts_(schedule, change),
        queues_(schedule.queues + 2 * schedule.devices.size()),
        latest_(schedule.streams.size(), none),
        begins_(schedule.works.size()),
        ends_(schedule.works.size()),
        anchors_(schedule.anchors.size()),
        extents_(schedule.devices.size()),
        done_(schedule.devices.size(), std::vector<Both>(schedule.steps.size())) {}

  std::vector<DeviceOutcome> run() {
    for (std::uint32_t i = 0; i < schedule_.works.size(); ++i) {
      const Work& work = schedule_.works[i];
      pass_anchors(work.begin);
      begins_[i] = begin_of(i, work);
      ends_[i] = begins_[i] + duration_of(work);
      take(i, work);
    }
    std::map<std::int64_t, DeviceOutcome> outcomes;
    for (std::size_t device = 0; device < extents_.size(); ++device) {
      DeviceOutcome outcome = outcome_of(schedule_.devices[device], extents_[device]);
      if (outcome.before <= 0) continue;
      outcome.steps = steps_of(done_[device]);
      outcomes.emplace(outcome.id, std::move(outcome));
    }
    std::vector<DeviceOutcome> result;
    for (const auto& [id, outcome] : outcomes) result.push_back(outcome);
    return result;
  }

 private:
  void pass_anchors(std::int64_t time) {
    for (; next_anchor_ < anchors_.size() && schedule_.anchors[next_anchor_].end <= time;
         ++next_anchor_) {
      anchors_[next_anchor_] = time_of(schedule_.anchors[next_anchor_]);
    }
  }

  // When the host does now what it did at a recorded time, after an anchor of its thread.
  std::int64_t host_time(std::uint32_t anchor, std::uint32_t process, std::int64_t time) {
    return anchors_[anchor] + cuts_.without(process, time) -
           cuts_.without(process, schedule_.anchors[anchor].end);
  }

  std::int64_t time_of(const Anchor& anchor) {
    const std::int64_t began = host_time(anchor.previous, anchor.process, anchor.begin);
    if (anchor.other != none) {
      return std::max(began, host_time(anchor.other, anchor.process, anchor.other_time) +
                                 between(anchor.process, anchor.other_time, anchor.end));
    }
    Both over;
    for (std::uint32_t i = 0; i < anchor.targets; ++i) {
      over.wait_for(reached(schedule_.targets[anchor.first_target + i], anchor.end));
    }
    // The host goes on as long after what it waited for as it did.
    const std::int64_t rest =
        between(anchor.process, std::max(anchor.begin, over.recorded), anchor.end);
    const bool waits = !change_.has(anchor.mended_by);
    return (waits ? std::max(began, over.now) : began) + rest;
  }

  // The end of work, or, if a call waited for part of it, what was left of it when that returned.
  Both reached(std::uint32_t work, std::int64_t until) const {
    const std::int64_t left = schedule_.works[work].end() - until;
    if (left <= 0) return {schedule_.works[work].end(), ends_[work]};
    return {until, std::max(begins_[work], ends_[work] - left)};
  }

  std::int64_t between(std::uint32_t process, std::int64_t begin, std::int64_t end) {
    return cuts_.without(process, end) - cuts_.without(process, begin);
  }

  // `done`: when the work of each step was over.
  static std::vector<Moved> steps_of(std::vector<Both>& done) {
    std::vector<Moved> steps;
    for (std::size_t i = 1; i + 1 < done.size(); ++i) {
      done[i].wait_for(done[i - 1]);  // also that of steps before it
      if (done[i - 1].recorded == 0) continue;
      steps.push_back({done[i].recorded - done[i - 1].recorded, done[i].now - done[i - 1].now});
    }
    return steps;
  }
  void add_to_step(const Work& work, const Both& end) {
    const std::vector<std::int64_t>& steps = schedule_.steps;
    if (steps.empty() || work.ready < steps.front()) return;
    if (work.ready < steps[step_] || (step_ + 1 < steps.size() && work.ready >= steps[step_ + 1])) {
      const auto next = std::ranges::upper_bound(steps, work.ready);
      step_ = static_cast<std::size_t>(next - steps.begin()) - 1;
    }
    done_[work.device][step_].wait_for(end);
  }

  bool is_moved(const Work& work) const { return change_.has(work.copied) && work.ready > 0; }
  Queue& copies_like(const Work& work) {
    return queues_[schedule_.queues + 2 * work.device + (work.direction == 1)];
  }

  std::int64_t begin_of(std::uint32_t number, const Work& work) {
    if (work.fixed) return work.begin;
    const Stream& stream = schedule_.streams[work.stream];
    Both over = queues_[work.stream].over(work.begin);
    if (stream.also_waits_for != none) {
      Both others = queues_[stream.also_waits_for].over(work.begin);
      if (change_.has(streams)) others.now = 0;
      over.wait_for(others);
    }
    const bool moved = is_moved(work);
    if (moved && work.direction == 1) over.now = over_before_launch(number);
    if (work.ready > 0) {
      over.wait_for({work.ready, host_time(work.anchor, stream.process, work.ready)});
    }
    for (; next_event_ < schedule_.events.size() && schedule_.events[next_event_].first <= number;
         ++next_event_) {
      const auto [waiting, target] = schedule_.events[next_event_];
      if (waiting != number) continue;
      over.wait_for({schedule_.works[target].end(), change_.has(streams) ? 0 : ends_[target]});
    }
    if (work.overlaps) over.wait_for({work.begin, still_overlapping(work)});
    if (over.recorded == 0) return work.begin;
    // What is not known to be waited for takes as long as it did.
    std::int64_t unknown = work.begin - over.recorded;
    if (change_.has(queued)) unknown = std::min(unknown, compute::launch_latency);
    // Without it, the gap between it and the work before is gone, too. A launch still takes its
    // time to reach the GPU.
    if (is_gone(work) && over.recorded > work.ready) unknown = 0;
    const std::int64_t begin = over.now + unknown;
    return moved ? std::max(begin, copies_like(work).over(work.begin).now) : begin;
  }

  // As long before the end of the work before it as it did, but not before that began.
  std::int64_t still_overlapping(const Work& work) const {
    const std::uint32_t before = latest_[work.stream];
    const std::int64_t overlap = schedule_.works[before].end() - work.begin;
    return std::max(begins_[before], ends_[before] - overlap);
  }

  std::int64_t over_before_launch(std::uint32_t number) {
    const auto& known = schedule_.before_launch;
    for (; next_copy_ < known.size() && known[next_copy_].first <= number; ++next_copy_) {
      if (known[next_copy_].first == number) return ends_[known[next_copy_].second];
    }
    return 0;
  }

  bool is_gone(const Work& work) const {
    const std::string_view type = schema::gpu_kinds[work.kind].type;
    return (change_.has(copies) && type == "memcpy") || (change_.has(sets) && type == "memset");
  }

  std::int64_t duration_of(const Work& work) const {
    const std::int64_t duration = work.end() - work.begin;
    if (is_gone(work)) return 0;
    if (change_.has(pinned) && work.copied == pageable_copies) {
      const double share = schedule_.devices[work.device].pinned[work.direction - 1];
      return std::min(duration, static_cast<std::int64_t>(static_cast<double>(duration) * share));
    }
    if (change_.faster.empty() || change_.faster[work.name] == 1) return duration;
    const double faster = std::round(static_cast<double>(duration) / change_.faster[work.name]);
    // The nearest double may be beyond the duration.
    return faster < static_cast<double>(duration) ? static_cast<std::int64_t>(faster) : duration;
  }

  void take(std::uint32_t number, const Work& work) {
    const Stream& stream = schedule_.streams[work.stream];
    Both end{work.end(), ends_[number]};
    if (is_moved(work)) copies_like(work).add(end);
    if (is_moved(work) && work.direction == 2) end.now = 0;  // nothing waits for it
    queues_[work.stream].add(end);
    if (stream.also_is_in != none) queues_[stream.also_is_in].add(end);
    latest_[work.stream] = number;
    if (work.follows) return;
    extend(extents_[work.device], number, work);
    add_to_step(work, {work.end(), ends_[number]});
  }

  void extend(Extent& extent, std::uint32_t number, const Work& work) const {
    extent.first_begin = std::min(extent.first_begin, work.begin);
    extent.now_begin = std::min(extent.now_begin, begins_[number]);
    std::int64_t end = work.end(), now = ends_[number];
    if (schedule_.to && end > *schedule_.to) {
      extent.until_the_end = true;
      end = *schedule_.to;
      using Wide = __int128;
      const Wide part =
          Wide{now - begins_[number]} * (end - work.begin) / (work.end() - work.begin);
      now = begins_[number] + static_cast<std::int64_t>(part);
    }
    extent.last_end = std::max(extent.last_end, end);
    extent.now_end = std::max(extent.now_end, now);
  }

  DeviceOutcome outcome_of(const Device& device, const Extent& extent) const {
    const bool any = extent.last_end > 0, idle_at_the_end = device.after != none;
    DeviceOutcome outcome{.id = device.id};
    if (!any && !(device.before && idle_at_the_end)) return outcome;
    std::int64_t begin = extent.first_begin, now_begin = extent.now_begin;
    if (device.before) begin = now_begin = *schedule_.from;
    std::int64_t end = extent.last_end, now_end = std::max(extent.now_end, now_begin);
    if (!extent.until_the_end && idle_at_the_end) {
      const std::int64_t earlier = schedule_.works[device.after].begin - begins_[device.after];
      end = *schedule_.to;
      now_end = std::max(now_end, end - earlier);
    }
    outcome.before = end - begin;
    outcome.after = now_end - now_begin;
    return outcome;
  }

  const Schedule& schedule_;
  const Change& change_;
  Cuts cuts_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> latest_;        // work of a stream
  LargeVector<std::int64_t> begins_, ends_;  // of the works now
  std::vector<std::int64_t> anchors_;        // their ends now
  std::size_t next_anchor_ = 1, next_event_ = 0, next_copy_ = 0;
  std::vector<Extent> extents_;
  std::vector<std::vector<Both>> done_;  // by device and step: the end of the work launched in it
  std::size_t step_ = 0;                 // of the latest work
};

std::int64_t median_of(const std::vector<Moved>& steps, std::int64_t Moved::*time) {
  std::vector<std::int64_t> times;
  for (const Moved& step : steps) times.push_back(step.*time);
  return at_place(times, times.size() / 2);
}

}  // namespace

std::int64_t DeviceOutcome::median_before() const { return median_of(steps, &Moved::before); }
std::int64_t DeviceOutcome::median_after() const { return median_of(steps, &Moved::after); }

std::vector<DeviceOutcome> replay(const Schedule& schedule, const Change& change) {
  return Replay(schedule, change).run();
}

}  // namespace gpuprof::simulate
