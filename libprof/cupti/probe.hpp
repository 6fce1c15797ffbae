// Which GPUs there are, and whether their counters can be read. Starts the driver and uses it, so
// it belongs into a process of its own.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::cupti {

struct DeviceProbe {
  int index = 0;
  std::string chip;     // CUPTI's name, as in GH100
  std::string name;     // the driver's
  std::string problem;  // why no metrics can be collected; empty: they can
};

// `try_one`: also collects something on the first device, which tells what nothing else does: a
// missing permission, another user of the counters. Throws gpuprof::Error when there is no driver,
// no device or no libcupti.
std::vector<DeviceProbe> probe_devices(const std::vector<std::string>& cupti_candidates,
                                       bool try_one);

}  // namespace gpuprof::cupti
