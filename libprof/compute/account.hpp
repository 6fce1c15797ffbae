// The account of a device: where its time went, in parts that cover the run and do not overlap.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libprof/compute/device_time.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// From the first call or GPU work of the run to the end of the last, in ns on CUPTI's clock.
struct RunWindow {
  std::int64_t first = INT64_MAX, last = INT64_MIN;

  void add(std::int64_t begin, std::int64_t end);
};

// What is known of a device.
struct DeviceFacts {
  const DeviceTime& time;
  std::span<const Gap> gaps;
  std::span<const std::optional<HostCalls::Split>> splits;  // by gap
  const std::map<std::int64_t, HostCalls::Total>& functions;
};

// A row of DEVICE_ACCOUNT.
struct AccountPart {
  std::string_view what;   // its class
  std::int64_t cause = 0;  // of a copy its direction; of a call the function, as in HostCall
  std::int64_t duration = 0;
  std::int64_t intervals = 0;
};

// The durations add up to the length of the window.
std::vector<AccountPart> account_of(const DeviceFacts& device, const RunWindow& window);

}  // namespace gpuprof::compute
