#include "libprof/record/run_info.hpp"

#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpuprof_version.hpp"
#include "libprof/base/clock.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/record/launch/environment.hpp"
#include "libprof/wire/format.hpp"

extern char** environ;

namespace gpuprof::record {
namespace {

std::string environment() {
  nlohmann::json variables = nlohmann::json::object();
  for (auto& [name, value] : launch::recorded(environ)) variables[name] = std::move(value);
  return json_text(variables);
}

// From "NVRM version: NVIDIA UNIX … Kernel Module  580.65.06  …", the word of digits and dots.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find('.') != word.npos && word.find_first_not_of("0123456789.") == word.npos)
      return word;
  }
  return {};
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

// What NTP or PTP keeps the wall clock within, as the kernel knows; nullopt: nothing keeps it.
std::optional<std::int64_t> clock_error_ns() {
  timex state{};
  if (adjtimex(&state) < 0 || (state.status & STA_UNSYNC) != 0) return std::nullopt;
  return std::int64_t{state.maxerror} * 1000;
}

wire::Frame run_frame(const wire::Fields& fields) {
  wire::Encoder encoder;
  encoder.fields(fields);
  return wire::make_frame(wire::FrameType::run, wire::run_stream, encoder.bytes());
}

}  // namespace

wire::Frame begin_of_run(const RunInfo& info) {
  wire::Fields fields;
  fields.set("gpuprof_version", version);
  fields.set("wire_version", std::int64_t{wire::version});
  if (!info.application.empty()) fields.set("command_line", shell_line(info.application));
  if (!info.command_line.empty()) fields.set("gpuprof_command_line", info.command_line);
  std::error_code ignored;
  fields.set("working_directory", std::filesystem::current_path(ignored).string());
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  fields.set("host_name", host.data());
  if (const std::string boot = boot_id(); !boot.empty()) fields.set("boot_id", boot);
  if (const auto error = clock_error_ns()) fields.set("clock_error_ns", *error);
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
  fields.set("trace_groups", info.trace_groups);
  if (!info.step.empty()) fields.set("step", info.step);
  fields.set("t0_realtime_ns", clock_ns(CLOCK_REALTIME));
  return run_frame(fields);
}

wire::Frame step_of_run(const std::string& expression) {
  wire::Fields fields;
  fields.set("step", expression);
  return run_frame(fields);
}

wire::Frame import_of_run(const std::string& file) {
  wire::Fields fields;
  fields.set("gpuprof_version", version);
  fields.set("wire_version", std::int64_t{wire::version});
  fields.set("imported_from", file);
  return run_frame(fields);
}

wire::Frame reason_of_run(const std::string& why) {
  wire::Fields fields;
  fields.set("written_because", why);
  return run_frame(fields);
}

wire::Frame end_of_run(pid_t target, int status) {
  wire::Fields fields;
  fields.set("target_process_id", static_cast<std::int64_t>(target));
  fields.set("t1_realtime_ns", clock_ns(CLOCK_REALTIME));
  if (WIFEXITED(status)) fields.set("exit_status", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) fields.set("exit_signal", WTERMSIG(status));
  return run_frame(fields);
}

wire::Frame end_of_run() {
  wire::Fields fields;
  fields.set("t1_realtime_ns", clock_ns(CLOCK_REALTIME));
  return run_frame(fields);
}

}  // namespace gpuprof::record
