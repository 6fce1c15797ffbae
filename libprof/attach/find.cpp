#include "libprof/attach/find.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
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
constexpr std::size_t most_command_bytes = 64 << 10;

std::vector<std::string> command_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
  std::string text(most_command_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.ends_with('\0')) text.pop_back();
  return split(text, '\0');
}

// Of a path: what follows its last slash.
std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_called(const std::vector<std::string>& command, std::string_view name) {
  if (command.empty()) return false;
  if (last_part(command[0]) == name) return true;
  const auto script = std::find_if(command.begin() + 1, command.end(),
                                   [](const std::string& word) { return !word.starts_with('-'); });
  return script != command.end() && last_part(*script) == name;
}

bool uses_cuda(pid_t process) {
  try {
    return find_file(Process(process).maps(), [](std::string_view file) {
             return file.starts_with("libcuda.so");
           }) != nullptr;
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
