// Records a process that runs already, until Ctrl-C, for a time, or until it ends.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/host_samples.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/recording.hpp"
#include "apps/gpuprof/run/run_output.hpp"
#include "libprof/attach/attach.hpp"
#include "libprof/attach/find.hpp"
#include "libprof/attach/process.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/text.hpp"
#include "libprof/record/launch/end_requests.hpp"
#include "libprof/record/launch/target.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/record/run.hpp"
#include "libprof/record/run_info.hpp"
#include "libprof/record/trace_selection.hpp"

namespace gpuprof::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds step{5};
constexpr std::chrono::seconds connecting_patience{10};  // once the collector is loaded
constexpr std::chrono::seconds starting_patience{60};    // for CUPTI, which waits for CUDA's locks
constexpr std::chrono::seconds leaving_patience{20};
constexpr std::int64_t none = -1;

struct AttachJob {
  Options options;
  std::string process;  // its number; empty: by name
  std::string name;
  std::optional<milliseconds> time;  // absent: until Ctrl-C
};

// Its own copy may be in use by the program; ours is for a process without one.
std::string cupti_candidates(const Options& options) {
  std::vector<std::string> candidates = collector_cupti_candidates(options.cupti);
  if (options.cupti.empty()) candidates.insert(candidates.begin(), "mapped");
  return joined(candidates, "\n");
}

std::string in_ms(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(time.count()) / 1e6);
  return text;
}

// For the main thread only, which alone may trace.
class Attaching {
 public:
  Attaching(AttachJob& job, const attach::Process& process);

  // Returns the exit code.
  int record();

 private:
  launch::Listener::Options listener_options();
  // false: the process is not recorded, as already reported.
  bool begin();
  void wait_for_the_end();
  void leave();
  int finish();
  // Waits while `goes_on`, but no longer than `patience`. false: it still goes on then.
  template <class GoesOn>
  static bool wait(std::chrono::milliseconds patience, GoesOn&& goes_on);

  const AttachJob& job_;
  const Options& options_;
  const attach::Process& process_;
  const record::TraceSelection selection_;
  const std::string collector_;
  launch::Target target_;  // blocks signals; nothing is started
  launch::EndRequests ends_;
  Log log_;
  const record::Say say_;
  std::optional<TemporaryFolder> temporary_;  // nullopt: there is an output
  const std::string output_;
  record::Recorder recorder_;
  record::Run::Common common_;
  std::atomic<std::int64_t> stream_{none};  // the collector's, once it records
  std::optional<record::Run> run_;
  HostSamples host_samples_;
  bool whole_ = false;
};

Attaching::Attaching(AttachJob& job, const attach::Process& process)
    : job_(job),
      options_(job.options),
      process_(process),
      selection_(record::select_trace(options_.trace)),
      collector_(collector_library()),
      ends_(options_.quiet),
      log_(options_, false, process.id()),
      say_([this](const std::string& text) { log_.say(text); }),
      temporary_(options_.output.empty() ? std::optional<TemporaryFolder>(std::in_place)
                                         : std::nullopt),
      output_(temporary_ ? *temporary_ / "run.sqlite" : options_.output),
      recorder_(recorder_options(options_, output_, log_, ends_, say_, {})),
      common_{.target = target_,
              .ends = ends_,
              .recorder = recorder_,
              .say = say_,
              .conversion = {},
              .folder = folder_of(output_),
              .command = {},
              .collector = collector_,
              .runtimes = {},
              .control = control_options(options_, selection_, say_)} {
  ends_.listen(2);  // the first signal ends the recording
}

launch::Listener::Options Attaching::listener_options() {
  return {.config = collector_config(options_, selection_, cupti_candidates(options_)),
          .salvage_program = (library_folder() / "gpuprof-salvage").string(),
          .message = [this](std::int64_t id, const std::string& text) { log_.say_of(id, text); },
          .attached = [this](std::uint32_t stream) { stream_.store(stream); }};
}

template <class GoesOn>
bool Attaching::wait(std::chrono::milliseconds patience, GoesOn&& goes_on) {
  const auto until = steady_clock::now() + patience;
  while (goes_on()) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(step);
  }
  return true;
}

bool Attaching::begin() {
  process_.check({collector_, folder_of(run_->socket_path())});
  const auto given_up = [this] { return ends_.asked() > 0; };
  const attach::Outcome outcome =
      attach::start_collector(process_, collector_, run_->socket_path(), given_up);
  const auto waits = [&] {
    return !given_up() && stream_.load() == none && !run_->is_over() && process_.alive();
  };
  wait(connecting_patience, [&] { return waits() && run_->processes_connected() == 0; });
  const bool connected = run_->processes_connected() > 0;
  const bool answered = connected && wait(starting_patience, waits);
  if (stream_.load() == none) {
    const std::string who = "process " + job_.process;
    if (!process_.alive()) {
      log_.say(who + " has ended");
    } else if (!answered && !given_up()) {
      log_.say("the collector in " + who + " does not answer");
    }
    return false;
  }
  if (!options_.quiet) {
    log_.say("attached to process " + job_.process + ": a thread of CUDA's was stopped for " +
             in_ms(outcome.stopped) + " and away for " + in_ms(outcome.away) +
             (job_.time ? "" : "; Ctrl-C detaches"));
    log_.say(
        "CUDA was at work before: what was allocated, loaded, named or captured in graphs until "
        "now, and NVTX ranges of libraries that used NVTX, are not recorded (begun_late)");
  }
  return true;
}

void Attaching::wait_for_the_end() {
  const auto goes_on = [this] { return !run_->is_over() && ends_.asked() == 0; };
  wait(job_.time.value_or(milliseconds(std::chrono::hours(24 * 365 * 100))), goes_on);
}

void Attaching::leave() {
  if (run_->is_over()) return;
  wire::Fields request;
  request.set("leave", std::int64_t{1});
  run_->tell(static_cast<std::uint32_t>(stream_.load()), request);
  const int before = ends_.asked();
  const bool over =
      wait(leaving_patience, [&] { return !run_->is_over() && ends_.asked() == before; });
  if (!over) {
    log_.say("the collector in process " + job_.process +
             " does not answer; it leaves when gpuprof has ended");
  }
}

int Attaching::record() {
  launch::Listener::Options listening = listener_options();
  host_samples_.begin(options_, listening, run_, log_);
  run_.emplace(common_, std::move(listening));
  run_->push(record::begin_of_run(run_info(options_, selection_, {})));
  if (!begin()) {
    run_->stop_listening();
    host_samples_.stop();
    run_.reset();
    return ends_.asked() > 0 ? ends_.exit_code()
                             : static_cast<int>(ExitCode::application_not_found);
  }
  run_->begin();
  wait_for_the_end();
  leave();
  run_->stop_listening();
  host_samples_.stop();
  run_->push(record::end_of_run());
  whole_ = run_->end();
  return finish();
}

int Attaching::finish() {
  run_->count_losses();
  recorder_.finish();
  if (!options_.quiet && (temporary_ || !options_.reports.chosen.empty())) {
    for (store::Loader* loader : recorder_.loaders()) {
      log_.report(loader->database(), prefix_of(process_.id()));
    }
  }
  if (!options_.quiet && !temporary_)
    print_outcome(recorder_, log_, {.hang_after = options_.hang_after});
  return whole_ && !recorder_.failed() ? 0 : static_cast<int>(ExitCode::output_failed);
}

int attach_to(AttachJob& job) {
  if (job.process.empty() == job.name.empty()) {
    throw Error(job.name.empty() ? "a process is missing" : "PID and --name exclude each other",
                "gpuprof attach PID, or gpuprof attach -n NAME", ExitCode::bad_option);
  }
  if (job.process.empty()) job.process = std::to_string(attach::find_process(job.name));
  const auto number = parse<pid_t>(job.process);
  if (!number || *number <= 0) {
    throw Error(job.process + " is not the number of a process", "gpuprof attach PID",
                ExitCode::bad_option);
  }
  if (const std::string wrong = why_no_triggers(job.options); !wrong.empty()) {
    throw Error(wrong, "gpuprof attach PID --keep-last 60s --trigger oom -o FILE",
                ExitCode::bad_option);
  }
  const attach::Process process(*number);
  // Before anything is created.
  process.check({});
  return Attaching(job, process).record();
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
  grammar.take("--for", time_to(job.time),
               "How long: 10s, 500ms, 5min; else until Ctrl-C or its end", "TIME");
  grammar.take_options(
      job.options, {"keep-last", "trigger", "snapshots", "max-size", "trace", "profile-api-trace",
                    "kernel-latency-timestamps", "flush-period", "budget", "host-samples",
                    "activity-buffers", "device-buffer-size", "device-buffers", "no-share", "cupti",
                    "save-capture", "process-name", "context-name", "stream-name"});
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
