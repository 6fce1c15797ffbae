// Records the process that started it. That process loads the collector itself: it is instructed on
// standard output where the collector is and where to connect, and confirms on standard input that
// it has connected. If metrics need several passes, the process repeats its work in order and gets
// new instructions each time.
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "apps/gpuprof/run/late_recording.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/metric_session.hpp"
#include "apps/gpuprof/run/recording.hpp"
#include "libprof/attach/process.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/text.hpp"
#include "libprof/record/run.hpp"
#include "libprof/record/run_info.hpp"
#include "libprof/record/trace_selection.hpp"

namespace gpuprof::app {
namespace {

struct ListenJob {
  Options options;
  std::string process;
};

// Records a process in as many passes as its metrics need.
class Listening : LateRecording {
 public:
  Listening(const Options& options, pid_t process);

  // Returns the exit code.
  int record();

 private:
  launch::Listener::Options options_of(std::size_t pass);
  // Records one more pass. Returns false if no more will follow.
  bool record_pass(std::size_t pass);
  // Tells the process where to connect. Returns false if the process is ending or could not
  // connect.
  bool hand_over(const record::Run& run, std::size_t pass) const;

  const pid_t process_;
  const std::size_t passes_;
  std::optional<record::Run> first_;
};

Listening::Listening(const Options& options, pid_t process)
    : LateRecording(options, process,
                    [&](Log&) { return std::make_unique<MetricSession>(options); }),
      process_(process),
      passes_(metrics_ ? metrics_->runs() : 1) {}

int Listening::record() {
  for (std::size_t pass = 0; pass < passes_ && record_pass(pass); ++pass) continue;
  if (!first_) return static_cast<int>(ExitCode::nothing_recorded);
  finish(*first_);
  // The process shows as warnings what comes before the outcome.
  if (!options_.quiet) print_outcome(recorder_, log_, {.cost = false});
  return exit_code();
}

// Passes after the first only measure.
launch::Listener::Options Listening::options_of(std::size_t pass) {
  const bool first = pass == 0;
  launch::Listener::Options listening = listener_options(
      first ? selection_ : record::TraceSelection{},
      metrics_ ? metrics_->cupti() : joined(collector_cupti_candidates(options_.cupti), "\n"));
  if (!first) listening.salvage_program.clear();
  listen_for_launches(listening, options_);
  return listening;
}

bool Listening::hand_over(const record::Run& run, std::size_t pass) const {
  nlohmann::json places{{"socket", run.socket_path()},
                        {"collector", common_.collector},
                        {"pass", pass},
                        {"passes", passes_}};
  if (metrics_) places["one_pass"] = metrics_->most_of_one_run();
  // Bypasses std::cout: it is no error if the process no longer waits for this.
  const std::string line = json_text(places, -1, true) + '\n';
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) return false;
  std::string answer;
  return std::getline(std::cin, answer) && answer == "connected";
}

bool Listening::record_pass(std::size_t pass) {
  const bool first = pass == 0;
  if (metrics_) metrics_->begin_run(pass);
  std::optional<record::Run> later;
  record::Run& run = (first ? first_ : later).emplace(common_, options_of(pass));
  if (first) begin(run, options_.application);
  if (!hand_over(run, pass)) {
    if (first) first_.reset();
    return false;
  }
  run.begin();
  while (!run.is_over() && getppid() == process_ && ends_.asked() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (ends_.asked() == 0) run.wait_for_the_others();
  run.stop_listening();
  if (first) run.push(record::end_of_run());
  const bool whole = run.end();
  if (first) whole_ = whole;
  return ends_.asked() == 0 && getppid() == process_;
}

int listen(ListenJob& job) {
  Options& options = job.options;
  const auto process = parse<std::int64_t>(job.process);
  const pid_t parent = getppid();
  if (!process || *process != parent) {
    throw Error("listen records the process that starts it, which is " + std::to_string(parent),
                "gpuprof.trace() of the Python package starts it", ExitCode::bad_option);
  }
  if (options.output.empty()) {
    throw Error("listen needs -o FILE", "", ExitCode::bad_option);
  }
  if (const std::string apart = why_not_in_one_run(options); !apart.empty()) {
    throw Error(apart, "", ExitCode::bad_option);
  }
  options.application = attach::command_of(parent);
  return Listening(options, parent).record();
}

void declare_listen(Grammar& grammar, ListenJob& job) {
  grammar.take({.name = "process",
                .to = &job.process,
                .help = "The process that starts gpuprof",
                .required = true});
  grammar.take_options(
      job.options,
      {"trace", "nvtx-domain-include", "nvtx-domain-exclude", "profile-from-start",
       "profile-api-trace", "kernel-latency-timestamps", "concurrent-kernels", "flush-period",
       "activity-buffers", "hw-trace", "hw-trace-buffer", "device-buffer-size", "device-buffers",
       "cupti", "track-memory", "stacks", "pc-sampling", "pc-sampling-period", "pc-stall-reasons",
       "pc-serialize", "pc-buffer", "no-command-line", "process-name", "context-name",
       "stream-name",
       // A request's scope comes before the request.
       "devices", "kernels", "launch-skip", "launch-count", "replay-mode", "range",
       "metrics-overhead", "metrics-samples", "metrics-exclude", "cache-control", "metrics-batch",
       "hang-timeout", "metrics", "set", "events", "source-level-analysis"});
  grammar.take_output_options(job.options);
  grammar.require("export-profile");
}

}  // namespace

extern const Subcommand listen_command{
    .name = "listen",
    .usage = "-o FILE PROCESS",
    .help = "Record the process that starts it: Python's gpuprof.trace()",
    .rare = true,
    .declare = command<ListenJob, declare_listen, listen>,
};

}  // namespace gpuprof::app
