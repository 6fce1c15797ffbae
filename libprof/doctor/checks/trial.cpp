// What is found by trying: the driver, recordings, and the counters.
#include <sys/wait.h>

#include <filesystem>
#include <variant>

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

// What a recording has.
struct Recorded {
  std::int64_t kernels = 0;  // with times
  std::int64_t of_graphs = 0;
  std::int64_t of_collectives = 0;  // whose operation NCCL reported
  std::int64_t pc_samples = 0;
  std::string said;  // on stderr, the first line
};

Recorded counted(const std::string& path) {
  Recorded recorded;
  if (!std::filesystem::exists(path)) return recorded;
  reading::ProfileFile(path).read([&](store::Database& database) {
    const auto number = [&](const char* sql) {
      store::Statement rows(database, sql);
      return rows.step() ? rows.integer(0) : 0;
    };
    constexpr char kernels[] = "SELECT count(*) FROM kernels WHERE duration > 0";
    recorded.kernels = number(kernels);
    recorded.of_graphs = number((std::string(kernels) + " AND graph_node_id > 0").c_str());
    recorded.pc_samples = number("SELECT sum(samples) FROM pc_samples");
    if (database.has_table("NCCL_OPERATION")) {
      recorded.of_collectives = number("SELECT count(*) FROM collectives WHERE duration > 0");
    }
  });
  return recorded;
}

// Records what gpuprof-probe does as a user would. Returns what is in the file, or why there is
// nothing to say.
std::variant<Recorded, Findings> record(const System& system,
                                        const std::vector<std::string>& options,
                                        const std::vector<std::string>& work = {"work"},
                                        std::chrono::milliseconds patience = driver_patience) {
  const TemporaryFolder folder;
  const std::string file = folder / "doctor.sqlite";
  const auto gpuprof = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::string> words{"--no-config", "-q", "-o", file};
  words.insert(words.end(), options.begin(), options.end());
  if (const std::string cupti = system.variable("GPUPROF_CUPTI"); !cupti.empty()) {
    words.insert(words.end(), {"--cupti", cupti});
  }
  words.push_back(library_folder() / "gpuprof-probe");
  words.insert(words.end(), work.begin(), work.end());
  const HelperOutput output = run_helper(gpuprof, words, patience);
  if (output.end == HelperOutput::End::overdue) {
    return unknown(patience == driver_patience ? no_answer : "it did not end in time",
                   look_at_driver);
  }
  if (WIFEXITED(output.status) &&
      WEXITSTATUS(output.status) == static_cast<int>(ExitCode::no_driver)) {
    return unknown("not tried: no GPU answers");
  }
  const std::string said(trimmed(output.err));
  const std::string first = said.substr(0, said.find('\n'));
  if (output.status != 0) {
    return cannot("a program with one kernel was not recorded: " + first, look_at_driver);
  }
  Recorded recorded = counted(file);
  recorded.said = first;
  if (recorded.kernels == 0) {
    return cannot("a program ran a kernel, but there is no record of it" +
                      (first.empty() ? "" : ": " + first),
                  {"gpuprof --print-gpu-trace ./app"});
  }
  return recorded;
}

Findings examine_recording(const System& system) {
  if (system.is_copy()) return without_gpus(trial(system));
  const auto result = record(system, {});
  if (const auto* problem = std::get_if<Findings>(&result)) return *problem;
  if (std::get<Recorded>(result).of_graphs == 0) {
    return cannot("a kernel was recorded, and not that of a CUDA graph",
                  {"gpuprof --print-gpu-trace ./app"});
  }
  return ok("a kernel and a CUDA graph were recorded, with their times");
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
  return about_counters(system, &launch::ProbedDevice::pm_sampling,
                        "the first GPU was sampled for some milliseconds");
}

// After the trial, which needs the same counters.
Findings examine_pc_sampling(const System& system) {
  Findings asked = about_counters(system, &launch::ProbedDevice::pc_sampling, "");
  if (asked.empty() || asked.front().answer != Answer::ok) return asked;
  const auto result = record(system, {"--pc-sampling"});
  if (const auto* problem = std::get_if<Findings>(&result)) return *problem;
  const Recorded& recorded = std::get<Recorded>(result);
  if (recorded.pc_samples == 0) {
    return cannot("a kernel was recorded with --pc-sampling, and has no samples" +
                      (recorded.said.empty() ? "" : ": " + recorded.said),
                  {"gpuprof --pc-sampling --print-pc-sampling ./app"});
  }
  return ok("a kernel was sampled: " + std::to_string(recorded.pc_samples) + " samples");
}

// Two ranks take some seconds to find each other.
constexpr std::chrono::milliseconds for_nccl{4000};

// The one that a program would load, or PyTorch's; empty: there is none.
std::string find_nccl(const System& system) {
  constexpr char name[] = "libnccl.so.2";
  if (const std::string path = find_library(system, name).path; !path.empty()) return path;
  for (const std::string& folder : package_folders(system)) {
    const std::string path = folder + "/nvidia/nccl/lib/" + name;
    if (folder.starts_with('/') && system.exists(path)) return path;
  }
  return {};
}

Findings examine_collectives(const System& system) {
  const Trial& tried = trial(system);
  if (tried.devices.size() < 2) return {};
  const std::string nccl = find_nccl(system);
  if (nccl.empty()) return unknown("not tried: there is no NCCL (libnccl.so.2)");
  const auto result = record(system, {}, {"collective", nccl}, driver_patience + for_nccl);
  if (const auto* problem = std::get_if<Findings>(&result)) {
    return unknown("two ranks of " + nccl + ": " + problem->front().text,
                   {"export NCCL_DEBUG=INFO"});
  }
  const Recorded& recorded = std::get<Recorded>(result);
  if (recorded.of_collectives == 0) {
    return unknown("two ranks of " + nccl +
                       " ran, and it did not report its operations: it is older than 2.23, or "
                       "another plug-in is set",
                   {"export NCCL_DEBUG=INFO"});
  }
  return ok("two ranks of NCCL were recorded: " + std::to_string(recorded.of_collectives) + " of " +
            std::to_string(recorded.kernels) + " kernels with their operation");
}

}  // namespace

extern const Check gpus_check{
    .name = "gpus",
    .question = "Does the driver answer, and find GPUs?",
    .examine = examine_gpus,
};

extern const Check recording_check{
    .name = "recording",
    .question = "Are a kernel and a CUDA graph recorded, with their times?",
    .examine = examine_recording,
};

extern const Check collectives_check{
    .name = "collectives",
    .question = "Are two ranks of NCCL recorded, with their operations?",
    .examine = examine_collectives,
    .more = for_nccl,
};

extern const Check metrics_check{
    .name = "metrics",
    .question = "Can metrics be collected (--metrics)?",
    .examine = examine_metrics,
};

extern const Check pm_sampling_check{
    .name = "pm-sampling",
    .question = "Does PM sampling work (--pm-sampling)?",
    .examine = examine_pm_sampling,
};

extern const Check pc_sampling_check{
    .name = "pc-sampling",
    .question = "Does PC sampling work (--pc-sampling)?",
    .examine = examine_pc_sampling,
};

}  // namespace gpuprof::doctor
