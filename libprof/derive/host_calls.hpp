// What the host was in while a device had no work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "libprof/derive/device_time.hpp"
#include "libprof/derive/sorted.hpp"

namespace gpuprof::derive {

struct HostCall {
  std::int64_t process, begin, end, correlation;
  std::int64_t function;  // any number; of calls that begin and end together the lowest counts

  // Calls that another one made come after it.
  bool operator<(const HostCall& other) const {
    if (begin != other.begin) return begin < other.begin;
    return end != other.end ? end > other.end : function < other.function;
  }
};

// For the gaps of one device: how long the process whose work ended the gap was in which function,
// and how long in none. At a moment when several of its calls are open, on several threads or one
// in another, the one that began first counts, so that the parts of a gap are no longer than it is.
// One thread. Memory: what Sorted takes, and some bytes for each function that is called in a gap.
class HostCalls {
 public:
  // Of one gap.
  struct Split {
    std::int64_t correlation = 0;  // the longest call of the function that took most; 0: none
    std::int64_t time = 0;         // in that function, ns
    std::int64_t in_calls = 0;     // in any, ns
  };

  // In the order of time; they do not overlap.
  explicit HostCalls(std::span<const Gap> gaps) : gaps_(gaps), splits_(gaps.size()) {}

  // In any order.
  void add(const HostCall& call);
  // By the gaps' places; nothing where no call of the gap's process is known. Once, and nothing may
  // be added afterwards.
  std::vector<std::optional<Split>> finish();

 private:
  struct InFunction {
    std::int64_t time = 0, longest = 0, correlation = 0;
  };
  // A process in the order of time: of the gap that it is in, its functions.
  struct Process {
    std::int64_t until = INT64_MIN;  // what came counts up to there
    std::size_t gap = 0;
    std::unordered_map<std::int64_t, InFunction> functions;
  };
  void take(Process& process, const HostCall& call, std::int64_t begin);
  void end_gap(Process& process);
  std::size_t first_after(std::int64_t time);

  std::span<const Gap> gaps_;
  std::vector<Split> splits_;
  Sorted<HostCall> calls_;  // that lie in a gap
  std::unordered_set<std::int64_t> processes_;
  std::size_t latest_ = 0;  // calls come nearly in the order of time
};

}  // namespace gpuprof::derive
