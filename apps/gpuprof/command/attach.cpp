// Records processes that run already, until Ctrl-C, for a time, or until they end.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
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

struct AttachJob {
  Options options;
  std::string process;  // its number; empty: by name, or all
  std::string name;
  bool tree = false;                 // with its descendants
  bool all_of_user = false;          // those that use CUDA
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

using Processes = std::vector<std::unique_ptr<attach::Process>>;

// The collectors that have connected, in this order.
class Connected {
 public:
  struct Collector {
    std::uint32_t stream = 0;
    std::int64_t process = 0;  // as it calls itself
    bool records = false;
  };

  // Any thread.
  void add(std::uint32_t stream, std::int64_t process) {
    const std::lock_guard lock(mutex_);
    all_.push_back({stream, process});
  }
  void set_records(std::uint32_t stream) {
    const std::lock_guard lock(mutex_);
    for (Collector& each : all_) each.records |= each.stream == stream;
  }
  std::vector<Collector> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;  // guards all_
  std::vector<Collector> all_;
};

// For the main thread only, which alone may trace.
class Attaching {
 public:
  Attaching(AttachJob& job, const Processes& processes);

  // Returns the exit code.
  int record();

 private:
  launch::Listener::Options listener_options();
  // A process, and its collector once that has connected.
  struct Begun {
    const attach::Process* process;
    attach::Outcome outcome;
    std::optional<std::size_t> collector;  // in connected_
  };
  // false: nothing is recorded, as already reported.
  bool begin();
  std::optional<Begun> begin(const attach::Process& process);
  bool given_up() const { return ends_.asked() > 0; }
  // Whether its collector may still answer.
  bool begins(const Begun& begun);
  bool records(const Begun& begun);
  void tell(const Begun& begun, bool answered);
  void wait_for_the_end();
  void leave();
  int finish();
  // Waits while `goes_on`, but no longer than `patience`. false: it still goes on then.
  template <class GoesOn>
  static bool wait(std::chrono::milliseconds patience, GoesOn&& goes_on);

  const AttachJob& job_;
  const Options& options_;
  const Processes& processes_;
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
  Connected connected_;
  std::optional<record::Run> run_;
  HostSamples host_samples_;
  bool whole_ = false;
};

Attaching::Attaching(AttachJob& job, const Processes& processes)
    : job_(job),
      options_(job.options),
      processes_(processes),
      selection_(record::select_trace(options_.trace)),
      collector_(collector_library()),
      ends_(options_.quiet),
      log_(options_, false, processes.front()->id()),
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
          .connected = [this](std::uint32_t stream,
                              std::int64_t process) { connected_.add(stream, process); },
          .attached = [this](std::uint32_t stream) { connected_.set_records(stream); }};
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

// nullopt: it cannot be done, as already reported.
std::optional<Attaching::Begun> Attaching::begin(const attach::Process& process) {
  try {
    process.check({collector_, folder_of(run_->socket_path())});
    const std::size_t before = connected_.all().size();
    Begun begun{&process,
                attach::start_collector(process, collector_, run_->socket_path(),
                                        [this] { return given_up(); }),
                {}};
    const auto is_on_its_way = [&] {
      return !given_up() && connected_.all().size() == before && process.alive();
    };
    wait(connecting_patience, is_on_its_way);
    if (connected_.all().size() > before) begun.collector = before;
    return begun;
  } catch (const Error& error) {
    if (processes_.size() == 1) throw;
    log_.say(std::string(error.what()) + ", so it is not recorded" +
             (error.hint().empty() ? "" : "\n  " + error.hint()));
    return std::nullopt;
  }
}

bool Attaching::records(const Begun& begun) {
  return begun.collector && connected_.all()[*begun.collector].records;
}

bool Attaching::begins(const Begun& begun) {
  if (!begun.collector || !begun.process->alive() || records(begun)) return false;
  const std::vector<std::int64_t> active = run_->active_processes();
  return std::ranges::count(active, connected_.all()[*begun.collector].process) > 0;
}

bool Attaching::begin() {
  std::vector<Begun> all;
  for (const auto& process : processes_) {
    if (given_up()) break;
    if (auto begun = begin(*process)) all.push_back(*begun);
  }
  const auto waits = [&] {
    return !given_up() &&
           std::ranges::any_of(all, [this](const Begun& each) { return begins(each); });
  };
  const bool answered = wait(starting_patience, waits);
  for (const Begun& each : all) tell(each, answered);
  const bool some = std::ranges::any_of(all, [this](const Begun& each) { return records(each); });
  if (some && !options_.quiet) {
    log_.say(
        "CUDA was at work before: what was allocated, loaded, named or captured in graphs until "
        "now, and NVTX ranges of libraries that used NVTX, are not recorded (begun_late)");
  }
  return some;
}

// What became of it; the reason why a collector has left is its own to say.
void Attaching::tell(const Begun& begun, bool answered) {
  const std::string who = "process " + std::to_string(begun.process->id());
  if (records(begun)) {
    if (options_.quiet) return;
    log_.say("attached to " + who + ": a thread of CUDA's was stopped for " +
             in_ms(begun.outcome.stopped) + " and away for " + in_ms(begun.outcome.away) +
             (job_.time ? "" : "; Ctrl-C detaches"));
  } else if (!begun.process->alive()) {
    log_.say(who + " has ended");
  } else if ((!answered || !begun.collector) && !given_up()) {
    log_.say("the collector in " + who + " does not answer");
  }
}

void Attaching::wait_for_the_end() {
  const auto goes_on = [this] { return !run_->is_over() && ends_.asked() == 0; };
  wait(job_.time.value_or(milliseconds(std::chrono::hours(24 * 365 * 100))), goes_on);
}

void Attaching::leave() {
  if (run_->is_over()) return;
  wire::Fields request;
  request.set("leave", std::int64_t{1});
  for (const Connected::Collector& each : connected_.all()) run_->tell(each.stream, request);
  const int before = ends_.asked();
  const bool over =
      wait(leaving_patience, [&] { return !run_->is_over() && ends_.asked() == before; });
  if (!over) {
    log_.say("the collector in process " + joined(run_->active_processes(), ", ") +
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
      log_.report(loader->database(), prefix_of(processes_.front()->id()));
    }
  }
  if (!options_.quiet && !temporary_)
    print_outcome(recorder_, log_, {.hang_after = options_.hang_after});
  return whole_ && !recorder_.failed() ? 0 : static_cast<int>(ExitCode::output_failed);
}

std::vector<pid_t> chosen_processes(const AttachJob& job) {
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
  if (job.all_of_user) return attach::processes_of_user();
  const auto number =
      job.process.empty() ? attach::find_process(job.name) : parse<pid_t>(job.process);
  if (!number || *number <= 0) {
    throw Error(job.process + " is not the number of a process", "gpuprof attach PID",
                ExitCode::bad_option);
  }
  return job.tree ? attach::processes_of_tree(*number) : std::vector<pid_t>{*number};
}

int attach_to(AttachJob& job) {
  if (const std::string wrong = why_no_triggers(job.options); !wrong.empty()) {
    throw Error(wrong, "gpuprof attach PID --keep-last 60s --trigger oom -o FILE",
                ExitCode::bad_option);
  }
  Processes processes;
  const std::vector<pid_t> numbers = chosen_processes(job);
  for (const pid_t number : numbers) {
    try {
      processes.push_back(std::make_unique<attach::Process>(number));
    } catch (const Error&) {
      if (number == numbers.back() && processes.empty()) throw;  // one of several has ended
    }
  }
  // Before anything is created.
  if (processes.size() == 1) processes.front()->check({});
  return Attaching(job, processes).record();
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
  grammar.take("--tree", &job.tree, "Also the descendants of the process that use CUDA");
  grammar.take("--all-of-user", &job.all_of_user,
               "Instead of PID: all processes of this user that use CUDA");
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
