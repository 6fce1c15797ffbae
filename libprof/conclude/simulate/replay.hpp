// Runs a schedule again.
#pragma once

#include <cstdint>
#include <vector>

#include "libprof/conclude/simulate/change.hpp"
#include "libprof/conclude/simulate/schedule.hpp"

namespace gpuprof::simulate {

// The time of a device from its first work to its last, or what of that is in the window, ns. The
// account has the same.
struct DeviceOutcome {
  std::int64_t id = 0;
  std::int64_t before = 0, after = 0;

  std::int64_t saved() const { return before - after; }
};

// Of all devices with such a time, by id. Without a change, the times are exactly those recorded.
// With one, nothing begins later than it did.
std::vector<DeviceOutcome> replay(const Schedule& schedule, const Change& change);

}  // namespace gpuprof::simulate
