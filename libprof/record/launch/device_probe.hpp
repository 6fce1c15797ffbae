// The GPUs of this machine, as reported by gpuprof-probe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"

namespace gpuprof::launch {

struct ProbedDevice {
  int index = 0;
  std::string chip;
  std::string name;
  std::string problem;  // why metrics cannot be collected; empty: they can
  // Why CUPTI would refuse PM and PC sampling; empty: it would not, as far as it knows.
  std::string pm_sampling, pc_sampling;
};

class ProbeOverdue : public Error {
 public:
  using Error::Error;
};

// What is tried on the first device: nothing, a metric, or PM samples too.
enum class Trial { none, metric, all };

// Runs the program, which takes about a second if something is tried. Throws gpuprof::Error if
// there is no driver, no GPU or no CUPTI, and ProbeOverdue if the driver does not answer in time.
std::vector<ProbedDevice> probe_devices(
    const std::string& cupti, Trial trial,
    std::chrono::milliseconds patience = std::chrono::minutes(1));

// The program's output, a line for each device, and back.
std::string lines_of(const std::vector<ProbedDevice>& devices);
std::vector<ProbedDevice> devices_in(std::string_view lines);

}  // namespace gpuprof::launch
