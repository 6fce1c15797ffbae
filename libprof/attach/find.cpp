#include "libprof/attach/find.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "libprof/attach/memory_map.hpp"
#include "libprof/attach/process.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::size_t most_named = 10;  // in an error

bool is_called(const std::vector<std::string>& command, std::string_view name) {
  if (command.empty()) return false;
  if (file_name(command[0]) == name) return true;
  const auto script = std::find_if(command.begin() + 1, command.end(),
                                   [](const std::string& word) { return !word.starts_with('-'); });
  return script != command.end() && file_name(*script) == name;
}

bool uses_cuda(pid_t process) {
  try {
    return Process(process).uses_cuda();
  } catch (const Error&) {
    return false;  // it has ended, or keeps to itself
  }
}

}  // namespace

pid_t find_process(const std::string& name) {
  std::vector<pid_t> fitting, others;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error);
  for (; !error && entries != decltype(entries)(); entries.increment(error)) {
    const auto process = parse<pid_t>(entries->path().filename().string());
    struct stat owner {};
    if (!process || *process == getpid()) continue;
    if (stat(entries->path().c_str(), &owner) != 0 || owner.st_uid != geteuid()) continue;
    if (!is_called(command_of(*process), name)) continue;
    (uses_cuda(*process) ? fitting : others).push_back(*process);
  }
  if (fitting.size() == 1) return fitting[0];
  if (fitting.empty()) {
    throw Error("no process of this user that uses CUDA is named " + printable(name),
                others.empty() ? "NAME is that of the program or of the script that it runs: ps -f"
                               : "process " + std::to_string(others[0]) +
                                     " has that name and does not use CUDA (yet)",
                ExitCode::application_not_found);
  }
  std::sort(fitting.begin(), fitting.end());
  std::string listed;
  for (std::size_t i = 0; i < fitting.size() && i < most_named; ++i) {
    listed += (i > 0 ? ", " : "") + std::to_string(fitting[i]);
  }
  if (fitting.size() > most_named) {
    listed += " and " + std::to_string(fitting.size() - most_named) + " more";
  }
  throw Error(std::to_string(fitting.size()) + " processes named " + printable(name) +
                  " use CUDA: " + listed,
              "gpuprof attach PID records one of them", ExitCode::application_not_found);
}

}  // namespace gpuprof::attach
