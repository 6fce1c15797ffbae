// What is found by trying: the driver, a recording of a kernel, and the counters.
#include <sys/wait.h>

#include <filesystem>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"
#include "libprof/doctor/trial.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::doctor {
namespace {

const std::vector<std::string> look_at_driver{"nvidia-smi", "sudo dmesg | grep -i -e nvrm -e xid"};

// Without GPUs that answer, nothing else can be tried.
Findings without_gpus(const Trial& tried) {
  return unknown(tried.overdue() || tried.code == ExitCode::ok ? tried.problem
                                                               : "not tried: no GPU answers");
}

Findings examine_gpus(const System& system) {
  const Trial& tried = trial(system);
  if (tried.overdue()) return unknown(tried.problem, look_at_driver);
  if (tried.problem == no_driver_library) return unknown("not tried: there is no driver");
  if (tried.code == ExitCode::no_metrics) {
    return unknown("CUPTI does not start, so the GPUs were not listed: " + tried.problem);
  }
  if (tried.code != ExitCode::ok) {
    std::vector<std::string> type = look_at_driver;
    if (tried.problem.find("CUDA_ERROR_SYSTEM_NOT_READY") != std::string::npos) {
      type = {"sudo systemctl start nvidia-fabricmanager"};
    }
    return cannot(tried.problem, type);
  }
  if (!tried.problem.empty()) return unknown(tried.problem);
  return ok(joined(tried.devices, ", ", [](const launch::ProbedDevice& device) {
    return std::to_string(device.index) + " " + device.name +
           (device.chip.empty() ? std::string() : " (" + device.chip + ")");
  }));
}

std::int64_t kernels_with_times(const std::string& path) {
  std::int64_t count = 0;
  reading::ProfileFile(path).read([&](store::Database& database) {
    store::Statement rows(database, "SELECT count(*) FROM kernels WHERE duration > 0");
    count = rows.step() ? rows.integer(0) : 0;
  });
  return count;
}

// Records a program with one kernel, as a user would.
Findings examine_recording(const System& system) {
  if (system.is_copy()) return without_gpus(trial(system));
  const TemporaryFolder folder;
  const std::string file = folder / "doctor.sqlite";
  const auto gpuprof = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::string> words{"--no-config", "-q", "-o", file};
  if (const std::string cupti = system.variable("GPUPROF_CUPTI"); !cupti.empty()) {
    words.insert(words.end(), {"--cupti", cupti});
  }
  words.insert(words.end(), {library_folder() / "gpuprof-probe", "work"});
  const HelperOutput output = run_helper(gpuprof, words, driver_patience);
  if (output.end == HelperOutput::End::overdue) return unknown(no_answer, look_at_driver);
  const std::string said(trimmed(output.err));
  if (WIFEXITED(output.status) &&
      WEXITSTATUS(output.status) == static_cast<int>(ExitCode::no_driver)) {
    return unknown("not tried: no GPU answers");
  }
  const std::string first = said.substr(0, said.find('\n'));
  if (output.status != 0) {
    return cannot("a program with one kernel was not recorded: " + first, look_at_driver);
  }
  const std::int64_t kernels = std::filesystem::exists(file) ? kernels_with_times(file) : 0;
  if (kernels == 0) {
    return cannot("a program ran a kernel, but there is no record of it" +
                      (first.empty() ? "" : ": " + first),
                  {"gpuprof --print-gpu-trace ./app"});
  }
  return ok("a kernel was recorded, with its times");
}

// `problem` is CUPTI's about the first GPU.
Findings about_counters(const System& system, const std::string launch::ProbedDevice::*problem,
                        std::string_view what) {
  const Trial& tried = trial(system);
  if (tried.code == ExitCode::no_metrics) {
    return cannot(tried.problem, {"pip install nvidia-cuda-cupti"});
  }
  if (!tried.problem.empty()) return without_gpus(tried);
  for (const launch::ProbedDevice& device : tried.devices) {
    const std::string& why = device.*problem;
    if (why.empty()) continue;
    std::vector<std::string> type;
    if (why.find("administrators") != why.npos) type = how_to_permit(system);
    if (why.find("using the counters") != why.npos) type = {"dcgmi profiling --pause"};
    return cannot("GPU " + std::to_string(device.index) + ": " + why, type);
  }
  return ok(std::string(what));
}

Findings examine_metrics(const System& system) {
  return about_counters(system, &launch::ProbedDevice::problem,
                        "a metric was collected on the first GPU");
}

Findings examine_pm_sampling(const System& system) {
  return about_counters(system, &launch::ProbedDevice::pm_sampling, "CUPTI supports it here");
}

Findings examine_pc_sampling(const System& system) {
  return about_counters(system, &launch::ProbedDevice::pc_sampling, "CUPTI supports it here");
}

}  // namespace

extern const Check gpus_check{
    .name = "gpus",
    .question = "Does the driver answer, and find GPUs?",
    .examine = examine_gpus,
};

extern const Check recording_check{
    .name = "recording",
    .question = "Is a kernel recorded, with its times?",
    .examine = examine_recording,
};

extern const Check metrics_check{
    .name = "metrics",
    .question = "Can metrics be collected (--metrics)?",
    .examine = examine_metrics,
};

extern const Check pm_sampling_check{
    .name = "pm-sampling",
    .question = "Does CUPTI support PM sampling here (--pm-sampling)?",
    .examine = examine_pm_sampling,
};

extern const Check pc_sampling_check{
    .name = "pc-sampling",
    .question = "Does CUPTI support PC sampling here (--pc-sampling)?",
    .examine = examine_pc_sampling,
};

}  // namespace gpuprof::doctor
