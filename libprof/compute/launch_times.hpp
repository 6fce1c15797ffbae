// How long kernels waited between the launching call and their start: table LAUNCH_TIME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "libprof/compute/call_times.hpp"
#include "libprof/compute/duration_sum.hpp"
#include "libprof/compute/durations.hpp"
#include "libprof/compute/kernel_rows.hpp"
#include "libprof/compute/launch_calls.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: what Sorted and Durations use. The table stays empty if the disk is
// full or there are too many kernels and functions.
class LaunchTimes {
 public:
  // By the StringTable id of a kernel, that of one with the same demangled name.
  using SameNames = std::unordered_map<std::int32_t, std::int32_t>;
  static SameNames same_names(store::Database& database, const std::set<std::int32_t>& kernels);

  void add(const KernelRows& kernels);
  // Nothing may be added afterwards. Kernels that are not in `same` have a name of their own.
  void join(LaunchCalls& calls, const CallTimes& functions, const SameNames& same);
  // Fills the table with what join() found, inside the caller's transaction.
  void write(store::Database& database);

 private:
  struct Launch {
    std::int64_t correlation, start;
    std::int32_t kernel;  // StringTable id
    bool operator<(const Launch& other) const { return correlation < other.correlation; }
  };
  // Kernels that share a demangled name.
  struct Group {
    std::int32_t kernel;     // the first of them
    std::uint32_t function;  // index in functions_
    DurationSum latency, calls;
  };

  void unless_full(const std::function<void()>& add);
  void join_all(LaunchCalls& calls, const CallTimes& functions, const SameNames& same);
  std::uint32_t function_of(std::int64_t number, const CallTimes& functions);
  std::int32_t first_of_its_name(std::int32_t kernel, const SameNames& same);
  void add(const Launch& launch, const LaunchCall& call, std::uint32_t function,
           const SameNames& same);

  Sorted<Launch> launches_;
  std::vector<std::string> functions_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;  // by kernel and function
  SameNames first_;                                        // first of the same name
  SameNames first_by_name_;                                // by the values of SameNames
  std::vector<Group> groups_;
  Durations latencies_;
  bool gave_up_ = false;
};

}  // namespace gpuprof::compute
