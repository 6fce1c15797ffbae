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
#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/kernel_rows.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: what two Sorted and Durations use, and one bit per call. The table
// stays empty if the disk is full or there are too many kernels and functions.
class LaunchTimes {
 public:
  struct Calls {
    CallTimes::Domain domain;
    const columns::Column &correlation, &cbid, &start, &end;
  };

  void add(const KernelRows& kernels);
  // Call after all kernels have been added, with calls of the runtime before those of the driver:
  // if several have the same id, the first counts. `asked_for`: ids of the work that calls
  // requested.
  void add(const Calls& calls, const CallTimes& names, const CorrelationSet& asked_for);
  // Fills the table, inside the caller's transaction. Nothing may be added afterwards.
  void write(store::Database& database);

 private:
  struct Launch {
    std::int64_t correlation, start;
    std::int32_t kernel;  // StringTable id
    bool operator<(const Launch& other) const { return correlation < other.correlation; }
  };
  struct Call {
    std::int64_t correlation, start, end;
    std::uint32_t function;  // index in functions_
    bool operator<(const Call& other) const { return correlation < other.correlation; }
  };
  // Kernels that share a demangled name.
  struct Group {
    std::int32_t kernel;  // the first of them
    std::uint32_t function;
    DurationSum latency, calls;
  };

  void unless_full(const std::function<void()>& add);
  std::uint32_t function_of(CallTimes::Domain domain, std::int64_t cbid, const CallTimes& names);
  std::int32_t first_of_its_name(std::int32_t kernel, store::Statement& name);
  void join(store::Database& database);
  void add(const Launch& launch, const Call& call, store::Statement& name);

  Sorted<Launch> launches_;
  Sorted<Call> calls_;
  CorrelationSet known_;  // ids in calls_
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
