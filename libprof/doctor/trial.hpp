// What the driver and CUPTI answer when they are really used. All of it happens in other processes
// with a time limit: a driver that hangs must not hang doctor.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libprof/base/exit_codes.hpp"
#include "libprof/doctor/system.hpp"
#include "libprof/record/launch/device_probe.hpp"

namespace gpuprof::doctor {

inline constexpr std::chrono::milliseconds driver_patience{2000};
inline constexpr char no_answer[] = "the driver did not answer in 2 s";

struct Trial {
  std::vector<launch::ProbedDevice> devices;
  // Why there are no devices; empty: there are.
  std::string problem;
  std::string hint;
  ExitCode code = ExitCode::ok;  // no_driver, no_metrics or others, with a problem

  bool overdue() const { return problem == no_answer; }
};

// Asks for the devices and collects a metric on the first one. Done once in a process; other
// threads wait for it. Nothing is tried for a copy of a system.
const Trial& trial(const System& system);

}  // namespace gpuprof::doctor
