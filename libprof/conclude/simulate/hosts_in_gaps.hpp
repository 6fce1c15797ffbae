// What the host did in gaps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "libprof/compute/host_calls.hpp"
#include "libprof/conclude/simulate/schedule.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::simulate {

// In the longest gaps of each device. The schedule must have its gaps, and outlive it.
class HostsInGaps {
 public:
  HostsInGaps(store::Database& database, Schedule& schedule);
  ~HostsInGaps();
  HostsInGaps(const HostsInGaps&) = delete;
  HostsInGaps& operator=(const HostsInGaps&) = delete;

  // Its process is the number of the schedule.
  void add(const compute::HostCall& call);
  bool allocates(const compute::HostCall& call) const {
    return allocating_.contains(call.function);
  }
  // Fills in the schedule's `hosts`. Nothing may be added afterwards. `launch_of` knows how the
  // work after a gap was launched.
  using LaunchOf = std::function<std::optional<compute::GapLaunch>(const Gap&)>;
  void finish(const LaunchOf& launch_of);

 private:
  class OfDevice;
  Schedule& schedule_;
  std::unordered_set<std::int64_t> allocating_, loading_;  // functions, as in HostCall
  std::vector<std::unique_ptr<OfDevice>> devices_;
};

}  // namespace gpuprof::simulate
