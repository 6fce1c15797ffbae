// A running process: what it has loaded, and how it was started.
#include <algorithm>
#include <set>
#include <sstream>

#include "libprof/base/path.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"
#include "libprof/doctor/injected.hpp"

namespace gpuprof::doctor {
namespace {

constexpr std::size_t most_maps_bytes = 16 << 20;
constexpr char gone[] = "it cannot be looked into, or has ended";

std::string file_of(const System& system, std::string_view name) {
  return "/proc/" + system.process + "/" + std::string(name);
}

// The files that it has mapped, each once. Empty: they cannot be read.
std::set<std::string> mapped(const System& system) {
  std::set<std::string> files;
  std::istringstream lines(system.text(file_of(system, "maps"), most_maps_bytes).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t path = line.find('/');
    if (path != line.npos) files.insert(line.substr(path));
  }
  return files;
}

std::vector<std::string> with_name(const std::set<std::string>& files, std::string_view begin) {
  std::vector<std::string> found;
  for (const std::string& file : files) {
    if (name_in(file).starts_with(begin)) found.push_back(file);
  }
  return found;
}

bool is_recorded(const std::set<std::string>& files) {
  return std::ranges::any_of(files, is_collector);
}

// The value of "NAME:" in its status file.
std::string status_of_process(const System& system, std::string_view name) {
  for (const std::string& line : split(system.text(file_of(system, "status")).value_or(""), '\n')) {
    if (line.starts_with(name)) return std::string(trimmed(line.substr(name.size())));
  }
  return {};
}

Findings examine_process(const System& system) {
  const std::string folder = "/proc/" + system.process;
  if (!system.is_folder(folder)) return cannot("there is no process " + system.process, {"ps -e"});
  if (status_of_process(system, "State:").starts_with('Z')) {
    return cannot("process " + system.process + " has ended, and its parent has not noticed",
                  {"ps -o ppid= -p " + system.process});
  }
  const std::string name = system.line(folder + "/comm");
  if (mapped(system).empty() || !system.text(folder + "/environ")) {
    return cannot("this user may not look into process " + system.process + " (" + name + ")",
                  {"sudo gpuprof doctor --pid " + system.process});
  }
  const std::string tracer = status_of_process(system, "TracerPid:");
  if (!tracer.empty() && tracer != "0") {
    return cannot("process " + tracer + " (" + system.line("/proc/" + tracer + "/comm") +
                      ") debugs process " + system.process,
                  {"kill " + tracer});
  }
  return ok(name);
}

Findings examine_its_driver(const System& system) {
  const auto files = mapped(system);
  if (files.empty()) return unknown(gone);
  const auto drivers = with_name(files, "libcuda.so");
  if (drivers.empty()) return ok("it has not loaded the driver (yet)");
  const std::string module = module_version(system);
  const std::string version = version_in(drivers[0]);
  const bool compatible = drivers[0].find("/compat") != std::string::npos;
  if (drivers[0].find(" (deleted)") != std::string::npos ||
      (!compatible && !version.empty() && !module.empty() && version != module)) {
    return cannot("it has loaded " + drivers[0] + ", but the driver is now " + module +
                      ": it was updated since",
                  {"kill " + system.process});
  }
  return ok(joined(drivers, ", ") +
            (with_name(files, "libnvToolsExt").empty() ? "" : ", and NVTX 2 (libnvToolsExt)"));
}

Findings examine_its_cupti(const System& system) {
  const auto files = mapped(system);
  if (files.empty()) return unknown(gone);
  const auto copies = with_name(files, "libcupti.so");
  if (copies.empty()) return ok("it has loaded none");
  if (copies.size() > 1 && is_recorded(files)) {
    return ok("gpuprof records it; a profiler of its own gets no GPU records: " +
              joined(copies, ", "));
  }
  if (copies.size() > 1) {
    return cannot("it has loaded " + std::to_string(copies.size()) +
                      " copies, of which only one can subscribe: " + joined(copies, ", "),
                  {"export LD_LIBRARY_PATH=" + shell_word(folder_of(copies[0]))});
  }
  const std::string driver = module_version(system);
  if (name_in(copies[0]).starts_with("libcupti.so.13") && !driver.empty() &&
      parts_of(driver)[0] < driver_of_cuda_13) {
    return cannot(copies[0] + " needs driver " + std::to_string(driver_of_cuda_13) +
                      " or newer; this one is " + driver,
                  {"pip install nvidia-cuda-cupti-cu12"});
  }
  return ok(copies[0]);
}

Environment environment_of(const System& system) {
  Environment environment;
  const std::string text = system.text(file_of(system, "environ")).value_or("");
  for (const std::string& variable : split(text, '\0')) {
    const std::size_t equals = variable.find('=');
    if (equals != variable.npos) {
      environment.emplace(variable.substr(0, equals), variable.substr(equals + 1));
    }
  }
  return environment;
}

Findings examine_its_injection(const System& system) {
  const auto files = mapped(system);
  if (files.empty()) return unknown(gone);
  if (is_recorded(files)) return ok("gpuprof's collector is in it");
  const Environment environment = environment_of(system);
  const auto text = system.text(file_of(system, "environ"));
  if (text && text->empty()) {
    return cannot("it was started with an empty environment, so no profiler reaches it",
                  {"env CUDA_INJECTION64_PATH=\"$CUDA_INJECTION64_PATH\" "
                   "NVTX_INJECTION64_PATH=\"$NVTX_INJECTION64_PATH\" "
                   "GPUPROF_SOCKET=\"$GPUPROF_SOCKET\" ./app"});
  }
  if (environment.empty()) return unknown("its environment cannot be read");
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    Findings found = about_injection(system, environment, name);
    if (found[0].answer != Answer::ok) return found;
  }
  for (const char* name : {"libnsys", "libToolsInjection", "libcuda-injection", "libsanitizer-"}) {
    const auto others = with_name(files, name);
    if (!others.empty()) {
      return cannot("another tool is in it: " + others[0], {"kill " + system.process});
    }
  }
  return ok("no profiler was injected");
}

Findings examine_its_files(const System& system) {
  const auto number = [&](const std::string& process) {
    const std::string link = "/proc/" + process + "/ns/mnt";
    const std::string target = system.target(link);
    return target == link ? "" : name_in(target);
  };
  const std::string theirs = number(system.process);
  if (theirs.empty()) return unknown(gone);
  if (theirs == number("self")) return ok("it sees the same files");
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    if (!system.exists(file_of(system, "root") + place)) continue;
    return ok(std::string("it is in a container, in whose ") + place +
              " gpuprof attach puts the collector");
  }
  return cannot(
      "it is in a container without /tmp, /var/tmp and /dev/shm, one of which the collector needs",
      {"docker run --tmpfs /tmp:exec IMAGE"});
}

Findings examine_its_libc(const System& system) {
  const auto files = mapped(system);
  if (files.empty()) return unknown(gone);
  if (const auto musl = with_name(files, "ld-musl-"); !musl.empty()) {
    return cannot("it uses musl (" + musl[0] + "); the driver and the collector need glibc",
                  {"docker run --gpus all ubuntu"});
  }
  const auto libc = with_name(files, "libc.so.6");
  const auto older = with_name(files, "libc-2.");  // before glibc 2.34
  if (libc.empty() && older.empty()) {
    return cannot("it is statically linked, so it can load neither the driver nor the collector",
                  {"nvcc -o app app.cu"});
  }
  return ok((libc.empty() ? older : libc)[0]);
}

}  // namespace

extern const Check process_check{
    .name = "process",
    .question = "Does it run, and may this user look into it?",
    .examine = examine_process,
};

extern const Check process_cuda_check{
    .name = "its-driver",
    .question = "Has it loaded the driver that is there now?",
    .examine = examine_its_driver,
};

extern const Check process_cupti_check{
    .name = "its-cupti",
    .question = "Has it loaded one copy of CUPTI at most?",
    .examine = examine_its_cupti,
};

extern const Check process_injection_check{
    .name = "its-injection",
    .question = "Is it free of other profilers?",
    .examine = examine_its_injection,
};

extern const Check process_namespaces_check{
    .name = "its-files",
    .question = "Does it see gpuprof's files, or have a place for them?",
    .examine = examine_its_files,
};

extern const Check process_libc_check{
    .name = "its-libc",
    .question = "Can its C library load the collector?",
    .examine = examine_its_libc,
};

}  // namespace gpuprof::doctor
