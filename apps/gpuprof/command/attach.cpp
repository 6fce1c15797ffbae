// Records processes that run already, until Ctrl-C, for a time, or until they end.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/attaching.hpp"
#include "apps/gpuprof/run/measured_runs.hpp"
#include "libprof/attach/find.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {
namespace {

struct AttachJob {
  // The process runs once, so groups of metrics take turns.
  AttachJob() { options.metrics.replay = MetricReplay::multiplex; }

  Options options;
  std::string process;  // its number; empty: by name, or all
  std::string name;
  bool tree = false;                              // with its descendants
  bool all_of_user = false;                       // those that use CUDA
  std::optional<std::chrono::milliseconds> time;  // absent: until Ctrl-C
};

// What it needs from the beginning of a process, or several runs of it.
void check_options(const Options& options) {
  const auto refuse = [](const std::string& why, const std::string& hint) {
    throw Error(why, hint, ExitCode::bad_option);
  };
  if (const std::string wrong = why_no_triggers(options); !wrong.empty()) {
    refuse(wrong, "gpuprof attach PID --keep-last 60s --trigger oom -o FILE");
  }
  if (const std::string wrong = why_not_kept(options); !wrong.empty()) refuse(wrong, "");
  if (const std::string wrong = why_not_activated(options); !wrong.empty()) refuse(wrong, "");
  if (const std::string apart = why_not_in_one_run(options); !apart.empty()) refuse(apart, "");
  if (options.metrics.requests.empty()) return;
  const MetricReplay replay = options.metrics.replay;
  if (replay == MetricReplay::application && !options.metrics.one_run) {
    refuse("--replay-mode application runs a program several times, and this one runs already",
           "multiplex, kernel and disabled measure what runs");
  }
  if (replay == MetricReplay::range) {
    refuse("ranges cannot be measured: libraries have asked for NVTX's tool before",
           "gpuprof.range() of the Python package measures them from within");
  }
}

// A process's number; none with --all-of-user.
std::optional<pid_t> chosen_process(const AttachJob& job) {
  const int ways = int{!job.process.empty()} + int{!job.name.empty()} + int{job.all_of_user};
  if (ways != 1) {
    throw Error(
        ways == 0 ? "a process is missing" : "PID, --name and --all-of-user exclude one another",
        "gpuprof attach PID, gpuprof attach -n NAME, or gpuprof attach --all-of-user",
        ExitCode::bad_option);
  }
  if (job.all_of_user && job.tree) {
    throw Error("--tree is of one process", "gpuprof attach PID --tree", ExitCode::bad_option);
  }
  if (job.all_of_user) return std::nullopt;
  const auto number =
      job.process.empty() ? attach::find_process(job.name) : parse<pid_t>(job.process);
  if (!number || *number <= 0) {
    throw Error(job.process + " is not the number of a process", "gpuprof attach PID",
                ExitCode::bad_option);
  }
  return number;
}

int attach_to(AttachJob& job) {
  check_options(job.options);
  job.options.is_rank = false;
  const std::optional<pid_t> chosen = chosen_process(job);
  std::optional<attach::Tree> tree;
  if (job.tree) tree.emplace(*chosen);
  const std::vector<pid_t> numbers = tree     ? attach::processes_of_tree(*tree)
                                     : chosen ? std::vector<pid_t>{*chosen}
                                              : attach::processes_of_user();
  Processes processes;
  for (const pid_t number : numbers) {
    try {
      processes.push_back(std::make_unique<attach::Process>(number));
    } catch (const Error&) {
      if (number == numbers.back() && processes.empty()) throw;  // one of several has ended
    }
  }
  // Before anything is created.
  if (processes.size() == 1) processes.front()->check();
  return record_processes(job.options, std::move(processes), std::move(tree), job.time);
}

void declare_attach(Grammar& grammar, AttachJob& job) {
  grammar.take({.name = "process",
                .to = &job.process,
                .help = "The process's number",
                .placeholder = "PID"});
  grammar.take(
      "-n,--name", &job.name,
      "Instead of PID: the one process of this user that uses CUDA and whose program, or the "
      "script that it runs, has this name",
      "NAME");
  grammar.take("--tree", &job.tree,
               "Also the descendants of the process that use CUDA, those that it starts later too");
  grammar.take("--all-of-user", &job.all_of_user,
               "Instead of PID: all processes of this user that use CUDA");
  grammar.take("--for", time_to(job.time),
               "How long: 10s, 500ms, 5min; else until Ctrl-C or its end", "TIME");
  grammar.take_options(
      job.options,
      {"activate", "duration", "keep-last", "trigger", "trigger-group", "snapshots", "max-size",
       "trace", "profile-api-trace", "kernel-latency-timestamps", "flush-period", "budget",
       "host-samples", "stacks", "native-stacks", "track-memory", "pm-sampling", "pm-metrics",
       "pm-interval", "pm-buffer", "pm-keep", "pc-sampling", "pc-sampling-period",
       "pc-stall-reasons", "pc-serialize", "pc-buffer",
       // A request's scope comes before the request.
       "devices", "kernels", "launch-skip", "launch-count", "replay-mode", "metrics-overhead",
       "metrics-samples", "metrics-exclude", "cache-control", "metrics-batch", "hang-timeout",
       "metrics", "set", "require-metrics", "activity-buffers", "device-buffer-size",
       "device-buffers", "no-share", "cupti", "save-capture", "process-name", "context-name",
       "stream-name", "cpu-profiling", "cpu-profiling-frequency", "cpu-profiling-mode",
       "cpu-profiling-max-depth", "cpu-profiling-percentage-threshold", "cpu-profiling-scope",
       "cpu-profiling-show-library", "cpu-profiling-thread-mode", "cpu-profiling-unwind-stack"});
  grammar.take_output_options(job.options);
  grammar.take_report_options(job.options);
}

}  // namespace

extern const Subcommand attach_command{
    .name = "attach",
    .usage = "PID|-n NAME [-o FILE]",
    .help = "Record a process that runs already",
    .declare = command<AttachJob, declare_attach, attach_to>,
};

}  // namespace gpuprof::app
