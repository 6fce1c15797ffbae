#include "libprof/record/launch/device_probe.hpp"

#include <sys/wait.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <sstream>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/base/installation.hpp"

namespace gpuprof::launch {

std::vector<ProbedDevice> probe_devices(const std::string& cupti, Trial trial,
                                        std::chrono::milliseconds patience) {
  constexpr std::array words{"list", "try", "try-all"};
  const std::string program = (library_folder() / "gpuprof-probe").string();
  std::vector<std::string> arguments{words[static_cast<std::size_t>(trial)]};
  for (std::string& candidate : host_cupti_candidates(cupti)) {
    arguments.push_back(std::move(candidate));
  }
  using End = HelperOutput::End;
  HelperOutput output;
  try {
    output = run_helper(program, arguments, patience);
  } catch (const Error& error) {
    throw Error(error.what(), "this installation is not complete; install gpuprof again",
                ExitCode::no_metrics);
  }
  if (output.end == End::overdue) {
    throw ProbeOverdue(
        "the driver did not answer in " + std::to_string(patience.count() / 1000) + " s",
        "see what nvidia-smi says", ExitCode::no_metrics);
  }
  if (output.status != 0) {
    std::istringstream lines(output.err);
    std::string what;
    std::string hint;
    std::getline(lines, what);
    std::getline(lines, hint);
    const auto code = WIFEXITED(output.status) ? static_cast<ExitCode>(WEXITSTATUS(output.status))
                                               : ExitCode::no_metrics;
    throw Error(what.empty() ? "gpuprof-probe ended without a word" : what, hint, code);
  }
  return devices_in(output.out);
}

std::string lines_of(const std::vector<ProbedDevice>& devices) {
  std::string lines;
  for (const ProbedDevice& device : devices) {
    lines += std::to_string(device.index);
    for (const std::string* word :
         {&device.chip, &device.name, &device.problem, &device.pm_sampling, &device.pc_sampling}) {
      lines += '\t' + *word;
    }
    lines += '\n';
  }
  return lines;
}

std::vector<ProbedDevice> devices_in(std::string_view text) {
  std::vector<ProbedDevice> devices;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words_of(line);
    ProbedDevice& device = devices.emplace_back();
    std::string index;
    std::getline(words_of, index, '\t');
    std::getline(words_of, device.chip, '\t');
    std::getline(words_of, device.name, '\t');
    std::getline(words_of, device.problem, '\t');
    std::getline(words_of, device.pm_sampling, '\t');
    std::getline(words_of, device.pc_sampling, '\t');
    std::from_chars(index.data(), index.data() + index.size(), device.index);
  }
  return devices;
}

}  // namespace gpuprof::launch
