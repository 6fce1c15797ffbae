// What the host did in gaps.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "libprof/compute/host_calls.hpp"
#include "libprof/conclude/simulate/change.hpp"
#include "libprof/conclude/simulate/schedule.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::simulate {

// Functions as in HostCall. Few calls are of one of them; for the others a bit says so.
class FunctionSet {
 public:
  void add(std::int64_t function) {
    functions_.insert(function);
    places_.set(place_of(function));
  }
  void add(const FunctionSet& others) {
    for (const std::int64_t function : others.functions_) add(function);
  }
  bool contains(std::int64_t function) const {
    return places_[place_of(function)] && functions_.contains(function);
  }

 private:
  static constexpr std::size_t functions_of_an_api = 2048;  // CUDA has fewer
  static std::size_t place_of(std::int64_t function) {
    const std::size_t place =
        static_cast<std::size_t>(compute::cbid_of(function)) % functions_of_an_api;
    return place + (compute::is_of_driver(function) ? functions_of_an_api : 0);
  }

  std::unordered_set<std::int64_t> functions_;
  std::bitset<2 * functions_of_an_api> places_;
};

// In the longest gaps of each device. The schedule must have its gaps, and outlive it.
class HostsInGaps {
 public:
  HostsInGaps(store::Database& database, Schedule& schedule);
  ~HostsInGaps();
  HostsInGaps(const HostsInGaps&) = delete;
  HostsInGaps& operator=(const HostsInGaps&) = delete;

  // Its process is the number of the schedule.
  void add(const compute::HostCall& call);
  // Whether it allocates or loads code.
  std::uint32_t mended_by(const compute::HostCall& call) const {
    return (allocating_.contains(call.function) ? allocating : nothing) |
           (loading_.contains(call.function) ? loading : nothing);
  }
  // Fills in the schedule's `hosts`. Nothing may be added afterwards. `launch_of` knows how the
  // work after a gap was launched.
  using LaunchOf = std::function<std::optional<compute::GapLaunch>(const Gap&)>;
  void finish(const LaunchOf& launch_of);

 private:
  class OfDevice;
  Schedule& schedule_;
  FunctionSet allocating_, loading_, pools_;
  std::vector<std::unique_ptr<OfDevice>> devices_;
};

}  // namespace gpuprof::simulate
