// What the idle time of devices went to: their gaps, and the calls and launches that fill them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libprof/base/time_spans.hpp"
#include "libprof/compute/device_time.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/compute/host_moments.hpp"
#include "libprof/compute/launch_calls.hpp"
#include "libprof/compute/launch_gaps.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

struct DeviceIdle {
  std::vector<Gap> gaps;                                // the longest, in time order
  std::vector<std::optional<HostCalls::Split>> splits;  // of these
  IdleParts parts;                                      // of these
  std::map<std::string, IdleTime> away;                 // of these: HostCalls::away()
  LaunchedGaps others;
};

// The time from `from` on and before `to`, ns on CUPTI's clock; without them, that of the run.
struct TimeBounds {
  std::optional<std::int64_t> from = {}, to = {};
};

// When a call may say something of a gap.
class TimesNearGaps {
 public:
  void add(std::span<const Gap> gaps);
  // Whether it may; calls arrive nearly in time order. Nothing may be added afterwards.
  bool have(std::int64_t begin, std::int64_t end) {
    if (!is_united_) unite(times_);
    is_united_ = true;
    latest_ = first_after(std::span(times_), begin, latest_);
    return latest_ < times_.size() && times_[latest_].begin <= end;
  }

 private:
  struct Span {
    std::int64_t begin, end;
  };

  std::vector<Span> times_;
  bool is_united_ = false;
  std::size_t latest_ = 0;
};

// Of several devices in several windows. Call in this order: all work and gaps are added, then the
// longest gaps of each place, then the calls of the runtime, those of the driver, and finish().
// Used by one thread. Memory: what Sorted uses, three times, the gaps and some bits per call.
class IdleTimes {
 public:
  // `windows`: in order, not overlapping. `kept`: as in LaunchCalls and LaunchGaps.
  explicit IdleTimes(std::vector<TimeBounds> windows = {{}}, std::size_t kept = 0)
      : windows_(std::move(windows)), kept_(kept), launch_calls_(kept) {
    restart();
  }
  IdleTimes(const IdleTimes&) = delete;
  IdleTimes& operator=(const IdleTimes&) = delete;

  // First of all.
  void read_waits(store::Snapshot& snapshot, const std::function<void()>& check) {
    waits_.read(snapshot, check);
    moments_.read(snapshot, check);
  }
  // Whether work and calls outside of the windows matter only if they are of a gap in one.
  bool is_bounded() const {
    return !windows_.empty() && windows_.front().from && windows_.back().to;
  }
  bool knows_moments() const { return !moments_.empty(); }
  // These processes have calls, though none may be added.
  void know(const std::vector<std::int64_t>& processes) {
    processes_.insert(processes.begin(), processes.end());
  }
  // Of all work: the id of its call, and whether that waits for it. May be repeated.
  void add_asked_for(std::int64_t correlation) {
    if (correlation != 0) asked_for_.add(correlation);
  }
  void add_waited_for(const GpuWork& work) {
    if (work.copied != 0) waited_for_.add(work.correlation);
  }
  // A device in a window.
  std::size_t add_place(std::size_t window);
  void add_gap(std::size_t place, const Gap& gap) {
    launch_gaps_->add(place, gap);
    if (!is_bounded()) return;
    ended_gaps_.add(gap.behind.correlation);
    last_after_gap_ = std::max(last_after_gap_, gap.behind.begin);
  }
  // Forgets all places and gaps.
  void restart();

  void set_longest(std::size_t place, std::vector<Gap> gaps);

  struct Calls {
    bool of_driver = false;
    const columns::Column &correlation, &start, &end, &process, &cbid, &thread;
  };
  void add(const Calls& calls);
  // `each_call` receives all launch calls, in the order of their ids.
  void finish(const std::function<void()>& check,
              const std::function<void(const LaunchCall&)>& each_call = {});

  const CorrelationSet& asked_for() const { return asked_for_; }
  // After finish().
  const DeviceIdle& of(std::size_t place) const { return places_[place].idle; }

 private:
  void add(HostCall call);

  struct Place {
    DeviceIdle idle = {};
    std::optional<HostCalls> host = {};
  };

  const std::vector<TimeBounds> windows_;
  const std::size_t kept_;
  StreamWaits waits_;
  HostMoments moments_;
  CorrelationSet asked_for_, waited_for_;
  // If the windows are bounded: work after gaps, and when the last of it began.
  CorrelationSet ended_gaps_;
  std::int64_t last_after_gap_ = 0;
  LaunchCalls launch_calls_;
  std::optional<LaunchGaps> launch_gaps_;
  std::deque<Place> places_;
  TimesNearGaps near_gaps_;
  std::vector<std::vector<Place*>> by_window_;
  std::unordered_set<std::int64_t> processes_;  // whose calls are known
  std::optional<std::int64_t> latest_process_;  // in processes_
};

}  // namespace gpuprof::compute
