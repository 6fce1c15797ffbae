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
  // Correlation ids in order.
  std::unordered_map<GpuStream, std::vector<std::int64_t>, GpuStreamHash> waits_;
};

// What is known of the gaps of a device in a window, or in a block of it, without looking at the
// host's other calls.
struct LaunchedGaps {
  std::span<const Gap> longest;                    // in time order
  std::int64_t shortest = 0;                       // no longer than any of these
  std::vector<std::optional<GapLaunch>> launches;  // of these
  IdleParts shorter;           // of the others; between close launches it does not matter what the
                               // host was in
  std::int64_t explained = 0;  // of the others, how many have no other part

  void set_longest(std::span<const Gap> gaps);
};

// Used by one thread. Memory: what Sorted uses.
class LaunchGaps {
 public:
  // ns, 18 minutes: what of a gap is beyond that is not divided.
  static constexpr std::int64_t most_divided = (std::int64_t{1} << 40) - 1;

  // `kept`: what of them stays in memory once it is sorted, bytes.
  LaunchGaps(const StreamWaits& waits, std::size_t kept)
      : waits_(waits), gaps_(default_sort_memory / sizeof(Launched), kept / sizeof(Launched)) {}

  // In any order.
  void add(std::size_t block, const Gap& gap);
  class Join;

 private:
  // There are as many as kernels, so they are small.
  struct Launched {
    std::int64_t correlation, begin;
    std::uint64_t length : 40;
    std::uint64_t for_event : 1;
    std::uint64_t block : 23;
    bool operator<(const Launched& other) const { return correlation < other.correlation; }
  };
  static_assert(sizeof(Launched) == 24);
  // Launches of a process that are close to one another.
  struct Launching {
    std::int64_t process = -1, since = 0, until = 0;
    void add(const LaunchCall& call);
  };

  const StreamWaits& waits_;
  Sorted<Launched> gaps_;
};

// Fills in what is known of gaps by the calls that launched the work after them. Nothing may be
// added to `gaps` any more, which must outlive this object, as must `waited_for`.
class LaunchGaps::Join {
 public:
  // The gaps of a block, with their `longest`; `launches` is filled in only if any is known.
  using Of = std::function<LaunchedGaps&(std::size_t block)>;
  // `waited_for`: ids of work for which its call waits: such a call does not launch.
  Join(LaunchGaps& gaps, const CorrelationSet& waited_for, Of of)
      : gap_(gaps.gaps_), waited_for_(waited_for), of_(std::move(of)) {}

  // In the order of the ids.
  void take(const LaunchCall& call);

 private:
  Sorted<Launched>::Cursor gap_;
  const CorrelationSet& waited_for_;
  Of of_;
  Launching launching_;
};

}  // namespace gpuprof::compute
