#include "libprof/doctor/check.hpp"

#include <exception>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace gpuprof::doctor {

// In the order in which they are printed.
#define GPUPROF_CHECKS(X) \
  X(driver_check)         \
  X(devices_check)        \
  X(gpus_check)           \
  X(recording_check)      \
  X(collectives_check)    \
  X(metrics_check)        \
  X(pm_sampling_check)    \
  X(pc_sampling_check)    \
  X(permission_check)     \
  X(cupti_check)          \
  X(installation_check)   \
  X(names_check)          \
  X(injection_check)      \
  X(nvtx_check)           \
  X(nccl_check)           \
  X(profilers_check)      \
  X(mps_check)            \
  X(mig_check)            \
  X(virtual_gpu_check)    \
  X(container_check)      \
  X(shared_memory_check)  \
  X(memory_check)         \
  X(limits_check)         \
  X(ptrace_check)         \
  X(output_check)         \
  X(temporary_check)      \
  X(glibc_check)          \
  X(clock_check)

#define GPUPROF_PROCESS_CHECKS(X) \
  X(process_check)                \
  X(process_cuda_check)           \
  X(process_cupti_check)          \
  X(process_injection_check)      \
  X(process_namespaces_check)     \
  X(process_libc_check)

#define GPUPROF_PROGRAM_CHECKS(X) \
  X(program_check)                \
  X(program_start_check)          \
  X(program_privileges_check)

#define X(name) extern const Check name;
GPUPROF_CHECKS(X)
GPUPROF_PROCESS_CHECKS(X)
GPUPROF_PROGRAM_CHECKS(X)
#undef X

std::string_view name_of(Answer answer) {
  switch (answer) {
    case Answer::ok: return "ok";
    case Answer::cannot: return "cannot";
    case Answer::unknown: break;
  }
  return "unknown";
}

Findings ok(std::string text) { return {{Answer::ok, std::move(text)}}; }

Findings cannot(std::string text, std::vector<std::string> type) {
  return {{Answer::cannot, std::move(text), std::move(type)}};
}

Findings unknown(std::string text, std::vector<std::string> type) {
  return {{Answer::unknown, std::move(text), std::move(type)}};
}

#define X(name) &name,
std::vector<const Check*> checks_for(const System& system) {
  std::vector<const Check*> all{GPUPROF_CHECKS(X)};
  if (!system.process.empty()) all.insert(all.end(), {GPUPROF_PROCESS_CHECKS(X)});
  if (!system.program.empty()) all.insert(all.end(), {GPUPROF_PROGRAM_CHECKS(X)});
  return all;
}
#undef X

std::vector<Result> examine(const std::shared_ptr<const System>& system,
                            std::span<const Check* const> checks, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::vector<std::future<Findings>> answers;
  for (const Check* check : checks) {
    auto task = std::make_shared<std::packaged_task<Findings()>>([check, system]() -> Findings {
      try {
        return check->examine(*system);
      } catch (const std::exception& error) {
        return unknown(error.what());
      }
    });
    answers.push_back(task->get_future());
    try {
      std::thread([task] { (*task)(); }).detach();
    } catch (const std::system_error&) {
      (*task)();  // a limit on threads
    }
  }
  std::vector<Result> results;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const bool answered =
        answers[i].wait_until(until + checks[i]->more) == std::future_status::ready;
    results.push_back(
        {checks[i], answered ? answers[i].get() : unknown("the system did not answer in time")});
  }
  return results;
}

}  // namespace gpuprof::doctor
