// What the host was doing while a device was idle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "libprof/compute/device_time.hpp"
#include "libprof/compute/sorted.hpp"

namespace gpuprof::compute {

struct HostCall {
  std::int64_t process, begin, end, correlation;
  std::int64_t function;  // any number; of calls with the same begin and end the lowest counts

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

// For the gaps of one device: how long the process whose work ended the gap was in which function,
// and how long in none. While several of its calls are open, on several threads or nested, the one
// that began first counts, so that the parts of a gap never exceed it. Used by one thread. Memory:
// what Sorted uses, and some bytes per function called in a gap.
class HostCalls {
 public:
  // Of one gap.
  struct Split {
    std::int64_t correlation = 0;  // longest call of the function with most time; 0: none
    std::int64_t time = 0;         // in that function, ns
    std::int64_t in_calls = 0;     // in any function, ns
  };

  // `gaps`: in time order, not overlapping; must outlive this object.
  explicit HostCalls(std::span<const Gap> gaps) : gaps_(gaps), splits_(gaps.size()) {}

  // In any order.
  void add(const HostCall& call);
  // Calls of the process are known, though none may be in a gap.
  void know(std::int64_t process) { processes_.insert(process); }
  // Indexed like the gaps; nullopt if no call of the gap's process is known. Call once; nothing may
  // be added afterwards.
  std::vector<std::optional<Split>> finish();
  // All gaps together, by function. Call after finish().
  struct Total {
    std::int64_t time = 0;  // ns
    std::int64_t gaps = 0;  // in which it was called
  };
  const std::map<std::int64_t, Total>& functions() const { return functions_; }

 private:
  struct InFunction {
    std::int64_t time = 0, longest = 0, correlation = 0;
  };
  // A process during the sweep, with the functions of its current gap.
  struct Process {
    std::int64_t until = INT64_MIN;  // time accounted for so far
    std::size_t gap = 0;
    std::unordered_map<std::int64_t, InFunction> functions;
  };
  void take(Process& process, const HostCall& call, std::int64_t begin);
  void end_gap(Process& process);
  std::size_t first_after(std::int64_t time);

  std::span<const Gap> gaps_;
  std::vector<Split> splits_;
  std::map<std::int64_t, Total> functions_;
  Sorted<HostCall> calls_;  // those within a gap
  std::unordered_set<std::int64_t> processes_;
  std::size_t latest_ = 0;  // calls arrive nearly in time order
};

}  // namespace gpuprof::compute
