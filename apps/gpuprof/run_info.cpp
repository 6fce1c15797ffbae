#include "apps/gpuprof/run_info.hpp"

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpuprof_version.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/launch/environment.hpp"
#include "libprof/wire/format.hpp"

extern char** environ;

namespace gpuprof::app {
namespace {

std::string environment() {
  nlohmann::json variables = nlohmann::json::object();
  for (auto& [name, value] : launch::recorded(environ)) variables[name] = std::move(value);
  return variables.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// From "NVRM version: NVIDIA UNIX … Kernel Module  580.65.06  …": the word of digits and dots.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos)
      return word;
  }
  return {};
}

}  // namespace

std::int64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

wire::Fields describe_run(const Options& options, const std::string& groups) {
  wire::Fields fields;
  fields.set("gpuprof_version", version);
  fields.set("wire_version", std::int64_t{wire::version});
  if (options.store_command_line) {
    fields.set("command_line", shell_line(options.application));
    fields.set("gpuprof_command_line", options.command_line);
  }
  std::error_code ignored;
  fields.set("working_directory", std::filesystem::current_path(ignored).string());
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  fields.set("host_name", host.data());
  utsname system{};
  if (uname(&system) == 0) {
    fields.set("operating_system",
               std::string(system.sysname) + " " + system.release + " " + system.machine);
  }
  fields.set("cpu_count", static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  if (const std::string driver = driver_version(); !driver.empty()) {
    fields.set("driver_version", driver);
  }
  fields.set("environment", environment());
  fields.set("trace_groups", groups);
  fields.set("t0_realtime_ns", realtime_ns());
  return fields;
}

}  // namespace gpuprof::app
