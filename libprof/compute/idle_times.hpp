// What the idle time of devices went to: their gaps, and the calls and launches that fill them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "libprof/compute/device_time.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/compute/host_moments.hpp"
#include "libprof/compute/launch_calls.hpp"
#include "libprof/compute/launch_gaps.hpp"
#include "libprof/compute/near_times.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

// Of a device in a window, or in a block of it. Borrows from IdleTimes.
struct DeviceIdle {
  std::int64_t gap_count = 0;                                    // of all gaps
  std::span<const Gap> gaps = {};                                // the longest, in time order
  std::span<const std::optional<HostCalls::Split>> splits = {};  // of these
  const HostCalls::Of* calls = nullptr;                          // of these
  LaunchedGaps others = {};
};

// The time from `from` on and before `to`, ns on CUPTI's clock; without them, that of the run.
struct TimeBounds {
  std::optional<std::int64_t> from = {}, to = {};
};

// Of several devices in several windows, which may be others for each device. Call in this order:
// all work and gaps are added, then the longest gaps of each place, then the calls of the runtime,
// those of the driver, and finish(). Used by one thread. Memory: what Sorted uses, three times, the
// gaps and some bits per call.
class IdleTimes {
 public:
  // `bounded`: all windows have both ends, and calls and work outside of them matter only if they
  // are of a gap in one. `kept`: as in LaunchCalls and LaunchGaps.
  explicit IdleTimes(bool bounded = false, std::size_t kept = 0)
      : bounded_(bounded), kept_(kept), launch_calls_(kept) {
    restart();
  }
  IdleTimes(const IdleTimes&) = delete;
  IdleTimes& operator=(const IdleTimes&) = delete;

  // First of all.
  void read_waits(store::Snapshot& snapshot, const std::function<void()>& check) {
    waits_.read(snapshot, check);
    moments_.read(snapshot, check);
  }
  bool knows_moments() const { return !moments_.empty(); }
  // These processes have calls, though none may be added.
  void know(const std::vector<std::int64_t>& processes) {
    processes_.insert(processes.begin(), processes.end());
  }
  // Of all work: the ids of the calls, and whether these wait for it. May be repeated.
  void add_asked_for(std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids) {
      if (id != 0) asked_for_.add(id);
    }
  }
  void add_waited_for(const GpuWork& work) {
    if (work.copied != 0) waited_for_.add(work.correlation);
  }
  // A device in a window; those of a device are added in order and do not overlap.
  std::size_t add_place(std::int64_t device, const TimeBounds& window = {});
  void add_gap(std::size_t place, const Gap& gap) {
    Place& its = places_[place];
    launch_gaps_->add(its.blocks.back(), gap);
    ++blocks_[its.blocks.back()].gap_count;
    its.last = std::max(its.last, gap.behind.begin);
    if (bounded_) ended_gaps_.add(gap.behind.correlation);
  }
  // Gaps that are added later are in another block of the place.
  void end_block(std::size_t place);
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
  std::span<const Gap> longest_gaps(std::size_t place) const { return places_[place].gaps; }
  std::span<const std::optional<HostCalls::Split>> splits(std::size_t place) const {
    return places_[place].splits;
  }
  std::size_t count_blocks(std::size_t place) const { return places_[place].blocks.size(); }
  const DeviceIdle& of(std::size_t place, std::size_t block = 0) const {
    return blocks_[places_[place].blocks[block]];
  }

 private:
  struct Place {
    TimeBounds window;
    std::vector<std::size_t> blocks = {};  // in blocks_
    std::vector<std::int64_t> ends = {};   // of the blocks but the last: the end of their last gap
    std::int64_t last = 0;                 // the begin of the work after the last gap
    std::vector<Gap> gaps = {};
    std::vector<std::optional<HostCalls::Split>> splits = {};
    std::optional<HostCalls> host = {};
  };

  void add(HostCall call);
  void finish(Place& place);

  const bool bounded_;
  const std::size_t kept_;
  StreamWaits waits_;
  HostMoments moments_;
  CorrelationSet asked_for_, waited_for_;
  CorrelationSet ended_gaps_;  // work after gaps, if the windows are bounded
  LaunchCalls launch_calls_;
  std::optional<LaunchGaps> launch_gaps_;
  std::deque<Place> places_;
  std::map<std::int64_t, std::vector<Place*>> devices_;
  std::deque<DeviceIdle> blocks_;
  NearTimes near_gaps_, near_windows_;
  std::unordered_set<std::int64_t> processes_;  // whose calls are known
  std::optional<std::int64_t> latest_process_;  // in processes_
};

}  // namespace gpuprof::compute
