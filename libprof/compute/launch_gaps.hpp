// When the work that ended gaps was launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/compute/launch_calls.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

// Where streams waited for events of others (cudaStreamWaitEvent): table SYNCHRONIZATION.
class StreamWaits {
 public:
  void read(store::Snapshot& snapshot, const std::function<void()>& check);

  // Whether the work after the gap waited for that before it, in another stream: a wait was asked
  // for between the two.
  bool ended(const Gap& gap) const;

 private:
  struct Hash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& stream) const {
      return std::hash<std::int64_t>()(stream.first * 31 + stream.second);
    }
  };
  // Correlation ids in order, by process and stream.
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>, Hash> waits_;
};

// What is known of the gaps of a device, or of it in a window, without looking at the host's other
// calls.
struct LaunchedGaps {
  std::span<const Gap> longest;                    // in time order
  std::vector<std::optional<GapLaunch>> launches;  // of these
  IdleParts shorter;           // of the others; between close launches it does not matter what the
                               // host was in
  std::int64_t explained = 0;  // of the others, how many have no other part
};

// Used by one thread. Memory: what Sorted uses.
class LaunchGaps {
 public:
  explicit LaunchGaps(const StreamWaits& waits) : waits_(waits) {}

  // In any order.
  void add(std::size_t place, const Gap& gap);
  // `waited_for`: ids of work for which its call waits: such a call does not launch. `of` has the
  // gaps of a place, with their `longest`; fills in the rest, `launches` only if any is known.
  // Nothing may be added afterwards.
  void join(LaunchCalls& calls, const CorrelationSet& waited_for,
            const std::function<LaunchedGaps&(std::size_t place)>& of);

 private:
  struct Launched {
    std::int64_t correlation, begin, end;
    std::uint32_t place;
    bool for_event;
    bool operator<(const Launched& other) const { return correlation < other.correlation; }
  };
  // Launches of a process that are close to one another.
  struct Launching {
    std::int64_t process = -1, since = 0, until = 0;
    void add(const LaunchCall& call);
  };

  const StreamWaits& waits_;
  Sorted<Launched> gaps_;
};

}  // namespace gpuprof::compute
