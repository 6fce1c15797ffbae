// Which GPUs there are, and whether their counters can be read. Starts and uses the driver, so it
// belongs in a dedicated process.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::cupti {

struct DeviceProbe {
  int index = 0;
  std::string chip;     // CUPTI's name, such as GH100
  std::string name;     // the driver's
  std::string problem;  // why metrics cannot be collected; empty: they can
  // Why CUPTI refuses PM and PC sampling, as far as is known; empty: it does not.
  std::string pm_sampling, pc_sampling;
};

// What is tried on the first device, which reveals what nothing else does: a missing permission, or
// another user of the counters. A metric is collected in a range, and by `all` over time too.
enum class Trial { none, metric, all };

// Throws gpuprof::Error if there is no driver, no device or no libcupti.
std::vector<DeviceProbe> probe_devices(const std::vector<std::string>& cupti_candidates,
                                       Trial trial);

}  // namespace gpuprof::cupti
