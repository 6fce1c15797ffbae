// How long kernels waited between the launching call and their start: table LAUNCH_TIME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  void add(const KernelRows& kernels);
  // Fills the table, inside the caller's transaction. Nothing may be added afterwards.
  void write(store::Database& database, LaunchCalls& calls, const CallTimes& names);

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
  std::uint32_t function_of(std::int64_t number, const CallTimes& names);
  std::int32_t first_of_its_name(std::int32_t kernel, store::Statement& name);
  void join(store::Database& database, LaunchCalls& calls, const CallTimes& names);
  void add(const Launch& launch, const LaunchCall& call, std::uint32_t function,
           store::Statement& name);

  Sorted<Launch> launches_;
  std::vector<std::string> functions_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::uint64_t, std::size_t> by_key_;        // by kernel and function
  std::unordered_map<std::int32_t, std::int32_t> first_;         // first of the same name
  std::unordered_map<std::string, std::int32_t> first_by_name_;  // by demangled name
  std::vector<Group> groups_;
  Durations latencies_;
  bool gave_up_ = false;
};

}  // namespace gpuprof::compute
