// How long kernels waited between the launching call and their start: table LAUNCH_TIME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  class Join;
  // Fills the table with what a Join found, inside the caller's transaction.
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

  void unless_full(auto&& add);
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

// Joins kernels with the calls that launched them: the call of an id gets all its launches. Nothing
// may be added to `times` any more, which must outlive this object, as must the others.
class LaunchTimes::Join {
 public:
  // Kernels that are not in `same` have a name of their own.
  Join(LaunchTimes& times, const CallTimes& functions, const SameNames& same);

  // In the order of the ids.
  void take(const LaunchCall& call);

 private:
  void take_all(const LaunchCall& call);

  LaunchTimes& times_;
  const CallTimes& functions_;
  const SameNames& same_;
  std::optional<Sorted<Launch>::Cursor> launch_;
  std::optional<std::int64_t> latest_;
  std::uint32_t function_ = 0;  // of `latest_`
};

}  // namespace gpuprof::compute
