// The GPUs of this machine, as gpuprof-probe tells of them.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::launch {

struct ProbedDevice {
  int index = 0;
  std::string chip;
  std::string name;
  std::string problem;  // why no metrics can be collected; empty: they can
};

// Runs the program; takes about a second. `try_one`: it also collects something. Throws
// gpuprof::Error when there is no driver, no GPU or no CUPTI.
std::vector<ProbedDevice> probe_devices(const std::string& cupti, bool try_one);

}  // namespace gpuprof::launch
