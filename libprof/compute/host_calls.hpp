// What the host was doing while a device was idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libprof/base/time_spans.hpp"
#include "libprof/compute/device_time.hpp"
#include "libprof/compute/host_moments.hpp"
#include "libprof/compute/sorted.hpp"

namespace gpuprof::compute {

// The host launches work also between two launch calls with at most this time between them, ns.
inline constexpr std::int64_t close_launches = 50'000;
// Work that begins at most this long after the return of its launch call did not wait for other
// work, ns: what launches take to reach an idle GPU. On an H200 that is up to 4 us for kernels and
// copies, 8 us for sets and 10 us for graphs.
inline constexpr std::int64_t launch_latency = 10'000;

struct HostCall {
  std::int64_t process, begin, end, correlation;
  std::int64_t function;  // any number; of calls with the same begin and end the lowest counts
  bool launches = false;  // it asked for GPU work, and did not wait for it

  // Calls nested in another one sort after it.
  bool operator<(const HostCall& other) const {
    if (begin != other.begin) return begin < other.begin;
    return end != other.end ? end > other.end : function < other.function;
  }
};

// HostCall.function of a function of CUDA's APIs, and back.
constexpr std::int64_t function_number(bool driver, std::int64_t cbid) {
  return std::int64_t{driver} << 32 | (cbid & 0xffffffff);
}
constexpr bool is_of_driver(std::int64_t function) { return function >> 32 != 0; }
constexpr std::int64_t cbid_of(std::int64_t function) { return function & 0xffffffff; }

// How the work that ended a gap was launched, by a call that did not wait for it.
struct GapLaunch {
  std::int64_t begin = 0, arrival = 0;  // of the call, and when the work could have begun
  std::int64_t function = 0;            // HostCall.function
  bool for_event = false;               // the work waited for an event of another stream
};

struct IdleTime {
  std::int64_t time = 0;  // ns
  std::int64_t gaps = 0;  // that have any of it

  void add(std::int64_t more) {
    time += more;
    gaps += more > 0;
  }
};

// What gaps of a device were, by what comes first: the work after the gap was launched already, the
// host launched work, it was in another call.
struct IdleParts {
  IdleTime queued, queued_for_event;
  std::map<std::int64_t, IdleTime> launches;  // by function: in its calls, and until work arrived
  IdleTime between_launches;
  std::map<std::int64_t, IdleTime> calls;  // by function
};

// For the gaps of one device: how long the process whose work ended the gap was in which function,
// and how long in none. While several of its calls are open, on several threads or nested, the one
// that began first counts, so that the parts of a gap never exceed it. Used by one thread. Memory:
// what Sorted uses, and some bytes per function called in a gap.
class HostCalls {
 public:
  // Of one gap.
  struct Split {
    // Parts of the gap, ns: see IdleParts. The rest of it is in no call.
    std::int64_t queued = 0, launching = 0, in_calls = 0;
    std::int64_t correlation = 0;  // longest call of the function with most of `in_calls`; 0: none
    std::int64_t time = 0;         // in that function, ns

    std::int64_t no_call(const Gap& gap) const {
      return gap.length() - queued - launching - in_calls;
    }
  };

  // Of the gaps in a block that have a split.
  struct Of {
    IdleParts parts;  // functions beyond those that are distinguished are only in the splits
    // Time in no call, by what the host did then, as the moments in it are a sample of that; "": it
    // is not known.
    std::map<std::string, IdleTime> away;
  };

  // `gaps`: in time order, not overlapping; must outlive this object. `ends`: how many gaps there
  // are up to the end of each block; empty: all are in one.
  explicit HostCalls(std::span<const Gap> gaps, std::vector<std::size_t> ends = {});

  // Whether a call may say something of a gap, if it has that time.
  bool is_near_a_gap(std::int64_t begin, std::int64_t end);
  // In any order.
  void add(const HostCall& call);
  // Calls of the process are known, though none may be in a gap.
  void know(std::int64_t process) {
    if (process == latest_process_) return;
    processes_.insert(process);
    latest_process_ = process;
  }
  // `launches` is indexed like the gaps; empty: none are known. So is the result; nullopt if no
  // call of the gap's process is known. Call once; nothing may be added afterwards. `moments`: what
  // the host did; null: it is not known.
  std::vector<std::optional<Split>> finish(std::vector<std::optional<GapLaunch>> launches = {},
                                           const HostMoments* moments = nullptr);
  // Call after finish().
  const Of& of(std::size_t block = 0) const { return blocks_[block]; }

 private:
  struct InFunction {
    std::int64_t launching = 0, in_calls = 0;  // parts of the gap
    std::int64_t longest = 0, correlation = 0;
  };
  // A process during the sweep, with the functions of its current gap.
  struct Process {
    std::int64_t until = INT64_MIN;  // time accounted for so far
    std::int64_t launched_until = INT64_MIN;
    std::vector<std::pair<std::int64_t, std::int64_t>> free;  // times in no call since then
    std::size_t gap = 0;
    std::unordered_map<std::int64_t, InFunction> functions;
  };
  void sweep();
  void take(Process& process, const HostCall& call, std::int64_t begin);
  // Its time in no call before the call, if that is between two launches.
  void take_free(Process& process, const HostCall& call);
  void end_gap(Process& process);
  void end(std::size_t gap);
  // The moments in that time are not in a time in no call.
  void take_moments(std::int64_t process, const TimeSpan& time);
  // Of the gaps of a block, which are those from `gap` on and before `end`.
  void divide_away(const std::vector<std::optional<Split>>& splits, std::size_t gap,
                   std::size_t end, Of& block) const;
  IdleParts& parts(std::size_t gap) { return blocks_[block_of_[gap]].parts; }
  std::size_t first_after(std::int64_t time);
  // What of the time is in the gap, before the work after it was launched.
  TimeSpan before_launch(std::size_t gap, std::int64_t begin, std::int64_t end) const;
  // What of the gap the work after it took from its call on until it arrived.
  std::int64_t in_launch(std::size_t gap) const;

  std::span<const Gap> gaps_;
  std::vector<Split> splits_;
  // By gap:
  std::vector<std::optional<GapLaunch>> launches_;
  std::vector<std::int64_t> between_;  // time between launches, ns
  std::vector<bool> counted_;          // in_launch() is in the parts
  std::vector<std::uint32_t> block_of_;
  std::vector<std::size_t> ends_;  // by block, as are:
  std::vector<Of> blocks_;
  const HostMoments* moments_ = nullptr;
  std::unordered_map<std::int64_t, std::vector<bool>> taken_;  // by process and moment
  Sorted<HostCall> calls_;  // those within a gap, and launches close to one
  std::unordered_set<std::int64_t> processes_;
  std::optional<std::int64_t> latest_process_;  // in processes_
  std::size_t latest_ = 0;                      // calls arrive nearly in time order
};

}  // namespace gpuprof::compute
