// A recorded schedule: what ran when, and what it waited for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "libprof/base/large_vector.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::simulate {

inline constexpr std::uint32_t none = UINT32_MAX;

// How long it takes from one time to another, ns, in as many bits as work and calls have for it:
// what takes longer than 4 hours is cut off.
inline constexpr int bits_of_length = 44;
inline std::uint64_t length_between(std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t longest = (std::int64_t{1} << bits_of_length) - 1;
  return static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(saturating_subtract(end, begin), 0, longest));
}

// GPU work, of which there can be many millions. All times are ns on CUPTI's clock.
struct Work {
  std::int64_t begin = 0;
  // When it could have begun as far as the host is concerned: its call, and what a launch takes to
  // reach the GPU. Not after begin. 0: not known.
  std::int64_t ready = 0;
  std::uint32_t stream = 0, anchor = 0, name = 0, device = 0;  // indexes
  std::uint64_t length : bits_of_length = 0;
  std::uint64_t copied : 9 = 0;     // of a copy between host and device, what mends it
  std::uint64_t direction : 2 = 0;  // of such a copy: 1 to the device, 2 to the host
  std::uint64_t kind : 5 = 0;       // in schema::gpu_kinds
  std::uint64_t fixed : 1 = 0;      // it began before the window
  std::uint64_t follows : 1 = 0;    // the device has nothing that began in the window after it
  // It began before the work before it in its stream was over, as a programmatic dependent launch
  // does.
  std::uint64_t overlaps : 1 = 0;
  std::uint64_t after_wait : 1 = 0;  // of a gap that it ended: the host was waiting when that began

  std::int64_t end() const { return begin + static_cast<std::int64_t>(length); }
};
static_assert(sizeof(Work) == 40);

// Processes that use the same GPU have one number: idle time of the GPU that goes is time that all
// of them have less.
struct Stream {
  std::uint32_t process = 0;
  // Of the streams whose flags say that they wait for one another (the default stream and those
  // that block with it): queues beyond those of streams.
  std::uint32_t also_waits_for = none, also_is_in = none;
};

// The end of a call in which the host waited, or the begin of one that waited for another thread.
// The host's time between anchors of a thread is as it was.
struct Anchor {
  std::int64_t begin = 0;  // of the wait; of a thread that waited, the end of its last call
  std::int64_t end = 0;
  std::int64_t other_time = 0;  // when the other thread was last seen
  std::uint32_t previous = 0;   // of the thread; 0: the begin of time
  std::uint32_t other = none;   // the other thread's anchor then; none: this is no such thread
  std::uint32_t process = 0;    // as of streams
  std::uint32_t first_target = 0, targets = 0;  // the work that was waited for
  std::uint32_t mended_by = 0;
};

// A period in which a device had no work.
struct Gap {
  std::int64_t begin = 0;
  std::uint32_t work = 0;     // that ended it
  std::uint32_t host = none;  // index in Schedule::hosts; of the longest gaps only
};

// How long the host was in no call of CUDA in a gap and launched nothing, as in the account, and in
// calls that allocate, that load code, and that make a pool grow or shrink.
struct HostInGap {
  std::int64_t no_call = 0, allocating = 0, loading = 0, pools = 0;
  std::int64_t away_before = 0;  // how long it had been in no call when the gap began
};

// A call that allocates or frees memory, or loads code, and took longer than to look a function up.
struct CostlyCall {
  std::int64_t begin = 0, end = 0;
  std::uint32_t process = 0;  // as of streams
  std::uint32_t mended_by = 0;
};

struct Device {
  std::int64_t id = 0;
  bool before = false;         // it had work before the window
  std::uint32_t after = none;  // its first work after the window
  // Of the time that copies of pageable memory to the device and to the host take, the share that
  // they would take of pinned memory.
  double pinned[2] = {1, 1};
};

struct Schedule {
  std::optional<std::int64_t> from, to;  // the window
  LargeVector<Work> works;               // in start order
  std::vector<Stream> streams;
  std::uint32_t queues = 0;  // of streams, and more
  std::vector<Device> devices;
  std::vector<std::int32_t> names;    // StringTable ids of kernels; the first is 0, of other work
  std::vector<std::uint64_t> counts;  // works with that name, by place in `names`
  std::vector<Anchor> anchors;        // in the order of their ends; the first is the begin of time
  std::vector<std::uint32_t> targets;
  // Work, and other work that it waits for because of an event; in the order of the former.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> events;
  // Of copies to the device: the work before it in its stream that was over when it was launched.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> before_launch;
  LargeVector<Gap> gaps;  // in time order of the work that ended them
  std::vector<HostInGap> hosts;
  std::vector<CostlyCall> costly_calls;  // up to a million
  std::vector<std::int64_t> steps;       // when those of the window began, in order
  std::uint32_t processes = 0;
  bool has_calls = false;  // the file has calls of CUDA
};

// The schedule of a window, or of the run: work that runs in it, and of each device the first after
// it; without steps. Reads all GPU work and API calls. Memory: some 200 bytes for each work in the
// window. `check` is called now and then and may throw; `before_calls` when the work is read, with
// half of that memory.
Schedule read_schedule(store::Snapshot& snapshot, std::optional<std::int64_t> from,
                       std::optional<std::int64_t> to, const std::function<void()>& check,
                       const std::function<void()>& before_calls = {});
}  // namespace gpuprof::simulate
