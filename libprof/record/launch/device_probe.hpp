// The GPUs of this machine, as reported by gpuprof-probe.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::launch {

struct ProbedDevice {
  int index = 0;
  std::string chip;
  std::string name;
  std::string problem;  // why metrics cannot be collected; empty: they can
};

// Runs the program, which takes about a second. `try_one` also collects something. Throws
// gpuprof::Error if there is no driver, no GPU or no CUPTI.
std::vector<ProbedDevice> probe_devices(const std::string& cupti, bool try_one);

}  // namespace gpuprof::launch
