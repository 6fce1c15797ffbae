// The metrics that CUPTI counts on each device. It can be configured only once per process (13.5
// returns OUT_OF_MEMORY the second time), and must be unconfigured before the last context in which
// it counted ends: otherwise the process crashes there (both on an H200). So the configuration
// persists from trace to trace. Any thread.
#pragma once

#include <cupti.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "libprof/collect/checked_api.hpp"

namespace gpuprof::collect {

class SassConfiguration {
 public:
  explicit SassConfiguration(CheckedApi& cupti) : cupti_(cupti) {}

  struct Answer {
    CUptiResult result = CUPTI_SUCCESS;
    std::size_t counted = 0;  // metrics that CUPTI counts
    bool has_all = false;     // including all wanted metrics
  };
  // The context must be current. `metrics`: CUPTI's ids.
  Answer want(CUcontext context, std::uint32_t device, std::span<const std::uint64_t> metrics);

  // Call when nothing is counted any more in the context, or in the process.
  void context_ends(CUcontext context);
  void process_ends();

 private:
  struct Device {
    std::vector<std::uint64_t> metrics;
    std::set<CUcontext> contexts;
  };

  void take_back(std::uint32_t device);

  static constexpr std::chrono::milliseconds patience{1000};
  CheckedApi& cupti_;
  std::timed_mutex mutex_;  // held while CUPTI is called; guards devices_
  std::map<std::uint32_t, Device> devices_;
};

}  // namespace gpuprof::collect
