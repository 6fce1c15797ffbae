#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/cupti_paths.hpp"
#include "apps/gpuprof/given_names.hpp"
#include "apps/gpuprof/log.hpp"
#include "apps/gpuprof/metric_session.hpp"
#include "apps/gpuprof/option_table.hpp"
#include "apps/gpuprof/output.hpp"
#include "apps/gpuprof/recorder.hpp"
#include "apps/gpuprof/run_info.hpp"
#include "apps/gpuprof/trace.hpp"
#include "libprof/base/demangle.hpp"
#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/launch/end_requests.hpp"
#include "libprof/launch/frame_queue.hpp"
#include "libprof/launch/listener.hpp"
#include "libprof/launch/target.hpp"
#include "libprof/metrics/nearest.hpp"
#include "libprof/store/profile_file.hpp"
#include "libprof/wire/stream_error.hpp"

namespace gpuprof::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t queue_bytes = std::size_t{128} << 20;
constexpr milliseconds commit_interval{250};

std::string collector_library() {
  const auto path = library_folder() / "libgpuprof_collector.so";
  if (!std::filesystem::exists(path)) {
    throw Error(
        "the collector is missing: " + path.string(),
        "this gpuprof was built without CUPTI's headers; run scripts/setup and build again");
  }
  return path.string();
}

std::string cupti_candidates(const std::string& chosen) {
  std::string candidates;
  for (const std::string& candidate : collector_cupti_candidates(chosen)) {
    candidates += (candidates.empty() ? "" : "\n") + candidate;
  }
  return candidates;
}

wire::Fields collector_config(const Options& options, const TraceSelection& selection,
                              const std::string& cupti) {
  wire::Fields config;
  std::string kinds;
  for (const int kind : selection.kinds) kinds += (kinds.empty() ? "" : ",") + std::to_string(kind);
  config.set("kinds", kinds);
  config.set("launch_calls_only", static_cast<std::int64_t>(selection.launch_calls_only));
  config.set("queries", static_cast<std::int64_t>(selection.queries));
  config.set("allocation_source", static_cast<std::int64_t>(selection.allocation_source));
  config.set("latency_timestamps", static_cast<std::int64_t>(options.kernel_latency_timestamps));
  config.set("from_start", static_cast<std::int64_t>(options.profile_from_start));
  config.set("flush_ms", static_cast<std::int64_t>(options.flush_ms));
  config.set("cupti", cupti);
  if (options.slots > 0) config.set("slots", static_cast<std::int64_t>(options.slots));
  return config;
}

wire::Frame run_frame(const wire::Fields& fields) {
  wire::Encoder encoder;
  encoder.fields(fields);
  return wire::make_frame(wire::FrameType::run, wire::run_stream, encoder.bytes());
}

std::string prefix_of(std::int64_t process) { return "==" + std::to_string(process) + "== "; }

// As nvprof prints a command.
std::string words(const Options& options) {
  std::string line;
  for (const std::string& word : options.application) {
    line += (line.empty() ? "" : " ") + word;
    if (!options.store_command_line) break;
  }
  return line;
}

// For another process that holds the lock of a database, a backup say: it is waited for without
// limit, on the thread that loads. What is recorded meanwhile waits in the queue.
class LockWait {
 public:
  LockWait(Log& log, const launch::EndRequests& ends) : log_(log), ends_(ends) {}

  bool operator()(int times) const {
    constexpr milliseconds step{20};
    constexpr int tell_after = 5000 / 20;
    if (times == tell_after) {
      log_.say("another process holds the lock of the database; what is recorded waits for it");
    }
    std::this_thread::sleep_for(step);
    return !ends_.overdue();
  }

 private:
  Log& log_;
  const launch::EndRequests& ends_;
};

// Loads what comes out of the queue, on a thread of its own. The database belongs to that thread
// until finish(). When the database fails, the rest of the run is drained and thrown away: the
// target must not notice.
class LoadingThread {
 public:
  // `metrics`: what turns counter data into values; may be null.
  LoadingThread(Recorder& recorder, launch::FrameQueue& queue, Log& log,
                const launch::EndRequests& ends, MetricSession* metrics)
      : recorder_(recorder),
        queue_(queue),
        log_(log),
        ends_(ends),
        metrics_(metrics),
        thread_([this] { run(); }) {}

  // Returns when the queue is exhausted. false: recording ended early, which was reported.
  bool finish() {
    thread_.join();
    return !failed_;
  }

 private:
  void run() {
    auto last_commit = steady_clock::now();
    while (!queue_.exhausted()) {
      if (ends_.overdue()) queue_.abandon();
      wire::Frame frame;
      const bool got = queue_.pop(frame, commit_interval);
      if (failed_) continue;
      try {
        if (got) take(std::move(frame));
        if (steady_clock::now() - last_commit >= commit_interval) {
          recorder_.commit();
          last_commit = steady_clock::now();
        }
      } catch (const std::exception& error) {
        // Said at once, not only when the target has ended, which may be hours away.
        failed_ = true;
        if (ends_.hurried()) continue;
        std::string text =
            error.what() + std::string("; nothing more is recorded, the program runs on");
        if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->hint().empty()) {
          text += "\n  " + ours->hint();
        }
        log_.say(text);
      }
    }
  }

  void take(wire::Frame frame) {
    if (!metrics_) return recorder_.take(std::move(frame));
    const auto stream = metrics_->recorded_stream(frame.stream);
    try {
      for (wire::Frame& result : metrics_->take(std::move(frame))) {
        recorder_.take(std::move(result));
      }
    } catch (const wire::StreamError& error) {
      if (stream) recorder_.refuse(*stream, error.what());
    } catch (const std::bad_alloc&) {
      if (stream) recorder_.refuse(*stream, "there is not enough memory for what it sends");
    }
  }

  Recorder& recorder_;
  launch::FrameQueue& queue_;
  Log& log_;
  const launch::EndRequests& ends_;
  MetricSession* metrics_;
  bool failed_ = false;  // the thread's own until finish()
  std::thread thread_;
};

// Until the target has ended, which it gets a signal for when its time is over.
void wait_for_target(launch::Target& target, launch::Listener& listener, const Options& options,
                     Log& log, const std::function<void()>& announce) {
  while (listener.seen() == 0) {
    if (target.wait(20)) return;
  }
  announce();
  if (options.timeout_ms > 0 && !target.wait(options.timeout_ms)) {
    if (!options.quiet) {
      log.line(prefix_of(target.process()) +
               "Warning: The timeout has passed, the application gets SIGTERM.");
    }
    kill(target.process(), SIGTERM);
  }
  target.wait(-1);
}

// Processes of the run that outlive the target are waited for: they belong to it. Ctrl-C ends that.
void wait_for_the_others(const launch::EndRequests& ends, launch::Listener& listener, Log& log,
                         bool quiet) {
  const auto since = steady_clock::now();
  bool told = false;
  const int before = ends.asked();
  listener.settle();
  while (listener.active() > 0) {
    if (ends.asked() > before) return;
    std::this_thread::sleep_for(milliseconds(20));
    if (told || quiet || steady_clock::now() - since < milliseconds(2000)) continue;
    told = true;
    std::string processes;
    for (const std::int64_t process : listener.active_processes()) {
      processes += " " + std::to_string(process);
    }
    log.say("the program has ended; waiting for its process" +
            std::string(listener.active() == 1 ? "" : "es") + processes +
            " (Ctrl-C: wait no longer)");
  }
}

void show_backlog(launch::FrameQueue& queue, bool quiet) {
  const std::uint64_t all = queue.counts().waiting_bytes;
  const bool progress = isatty(2) && !quiet && all > (64u << 20);
  while (progress && !queue.exhausted()) {
    const std::uint64_t left = queue.counts().waiting_bytes;
    std::fprintf(stderr, "\rgpuprof: writing %3d %%",
                 static_cast<int>(100 - 100 * std::min(left, all) / all));
    std::this_thread::sleep_for(milliseconds(200));
  }
  if (progress) std::fprintf(stderr, "\r                         \r");
}

void print_run(Recorder& recorder, Log& log, const Options& options, std::int64_t process) {
  log.line(prefix_of(process) + "Profiling application: " + words(options));
  for (store::Loader* loader : recorder.loaders()) {
    store::Database& database = loader->database();
    // A file of one process is headed by that process's id.
    const auto only = database.integer("SELECT max(processId) FROM PROCESS HAVING count(*) = 1");
    log.report(database, prefix_of(only.value_or(process)));
  }
}

// What was asked for by name and cannot be had here.
void print_unavailable(Recorder& recorder, Log& log, const Options& options) {
  for (store::Loader* loader : recorder.loaders()) {
    for (const std::string& table : tables_asked_for(options)) {
      auto refused = loader->database().prepare(
          "SELECT 1 FROM STATISTIC WHERE name = 'kind_unavailable' AND value > 0 AND kind = ?1");
      if (!refused.bind(1, std::string_view(table)).step()) continue;
      log.say(table + " stays empty: this CUPTI, or the device, does not deliver it");
    }
  }
}

constexpr char no_driver[] = "Warning: unable to locate cuda driver library, GPU profiling skipped";

// Nothing came: why, as far as it is known. nvprof's words where it is the driver that is missing.
void print_nothing_captured(Log& log, bool driver, bool report) {
  if (driver) {
    log.say(
        "no CUDA activity was captured: the program did not use CUDA, or ended before its first "
        "call");
    return;
  }
  log.line(std::string("======== ") + no_driver);
  if (report) log.line("======== Warning: No profile data collected.");
}

std::string cut_off(std::size_t processes) {
  return std::to_string(processes) + (processes == 1 ? " process" : " processes") +
         " reached gpuprof and ended before anything was recorded";
}

// What a file is that was named in place of a program; empty: nothing that gpuprof knows.
std::string file_for_gpuprof(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  const std::string name = shell_line({path});
  const store::ProfileFile file(path);
  const bool profile =
      file.format() == store::Format::gpuprof || file.format() == store::Format::nvprof;
  if (profile && !file.problem()) {
    return "It is a profile: gpuprof -i " + name + " prints its reports, gpuprof info " + name +
           " says what is in it.";
  }
  return file.is_capture() ? "It is a capture: gpuprof replay " + name + " prints its reports."
                           : "";
}

// What may have been meant by a first word that is no program; empty: nothing comes to mind.
std::string command_meant(const std::string& word) {
  struct Other {
    std::string_view word, command;
  };
  constexpr Other others[] = {
      {"version", "gpuprof --version"},
      {"stats", "gpuprof -i FILE"},
      {"report", "gpuprof -i FILE"},
      {"import", "gpuprof -i FILE"},
      {"run", "gpuprof PROGRAM"},
      {"record", "gpuprof -o FILE PROGRAM"},
      {"profile", "gpuprof -o FILE PROGRAM"},
  };
  for (const Other& other : others) {
    if (word == other.word) return "Did you mean \"" + std::string(other.command) + "\"?";
  }
  std::vector<std::string> names;
  for (const Subcommand* command : subcommands()) {
    if (!command->help.empty()) names.emplace_back(command->name);
  }
  std::erase_if(names, [&](const std::string& name) {
    return metrics::edit_distance(word, name) * 2 > name.size();
  });
  const auto meant = metrics::nearest(word, names, 1);
  return meant.empty() ? "" : "Did you mean \"gpuprof " + meant[0] + "\"?";
}

// nvprof's line when there is no such program; what else is wrong stays as it is said.
[[noreturn]] void throw_not_started(const Error& error, const Options& options) {
  const std::string& program = options.application[0];
  const std::string file = file_for_gpuprof(program);
  const bool missing = std::string_view(error.what()).ends_with(std::strerror(ENOENT));
  const bool has_folder = program.find('/') != program.npos;
  if (file.empty() && (!missing || (has_folder && std::filesystem::exists(program)))) throw error;
  NvprofError not_found{{}, ExitCode::application_not_found};
  if (!options.quiet && file.empty() && !driver_found()) not_found.lines.emplace_back(no_driver);
  not_found.lines.push_back("Error: application not found: " + printable(program));
  if (!file.empty()) {
    not_found.lines.push_back(printable(file));
  } else if (!has_folder && std::filesystem::exists(program)) {
    not_found.lines.push_back("It is in this folder: ./" + printable(program));
  } else if (const std::string meant = command_meant(program); !has_folder && !meant.empty()) {
    not_found.lines.push_back(meant);
  }
  throw not_found;
}

// How a target ended, and which it was; the next run of it is another.
struct TargetEnd {
  pid_t process;
  int status;
  int exit_code;

  explicit TargetEnd(const launch::Target& target)
      : process(target.process()), status(target.status()), exit_code(target.exit_code()) {}
};

// As nvprof's last line.
void print_exit(const TargetEnd& target, Log& log) {
  if (target.exit_code == 0) return;
  log.line(std::string("======== Error: Application ") +
           (WIFSIGNALED(target.status) ? "received signal " : "returned non-zero code ") +
           std::to_string(target.exit_code));
}

// Null: none were asked for, or none can be had and the run goes on without them.
std::unique_ptr<MetricSession> prepare_metrics(const Options& options, Log& log) {
  if (options.metrics.requests.empty()) return nullptr;
  try {
    auto session = std::make_unique<MetricSession>(options);
    if (options.metrics.plan) {
      std::istringstream lines(session->plan_text());
      for (std::string line; std::getline(lines, line);) log.say(line);
    }
    return session;
  } catch (const Error& error) {
    const bool cannot =
        error.exit_code() == ExitCode::no_metrics || error.exit_code() == ExitCode::no_driver;
    if (!cannot || options.metrics.required) throw;
    log.say(error.what() + std::string("; the program is traced without metrics") +
            (error.hint().empty() ? "" : "\n  " + error.hint()));
    return nullptr;
  }
}

int show_plan(const Options& options) {
  const std::string plan = MetricSession(options).plan_text();
  std::fputs(plan.c_str(), stdout);
  return 0;
}

// What the collectors of one run say of metrics.
class MetricNotices {
 public:
  explicit MetricNotices(Log& log) : log_(log) {}

  // On the listener's thread.
  void take(std::int64_t process, std::string_view name, const std::string& text) {
    const std::lock_guard lock(mutex_);
    const std::string who = "process " + std::to_string(process) + ": ";
    if (name == "metrics_hang") {
      hanging_.push_back(text);
      log_.say(who +
               "while metrics were measured this did not come back: " + printable(demangled(text)) +
               "; no more metrics are measured in it. If the program does not go on, end it and "
               "leave the kernel out with --metrics-exclude");
    } else if (name == "metrics_error" && told_.insert(text).second) {
      log_.say(who + "no more metrics: " + printable(text));
    }
  }

  // What hung since the last call.
  std::vector<std::string> hanging() {
    const std::lock_guard lock(mutex_);
    return std::exchange(hanging_, {});
  }

 private:
  Log& log_;
  std::mutex mutex_;
  std::vector<std::string> hanging_;
  std::set<std::string> told_;
};

// What all runs of the target have in common.
struct Runs {
  const Options& options;
  const TraceSelection& selection;
  const std::string& collector;
  const std::string folder;  // for what memory has no room for
  launch::Target& target;
  launch::EndRequests& ends;
  Log& log;
  Recorder& recorder;
  MetricSession* metrics;
  MetricNotices& notices;

  launch::Listener::Options listener_options(bool traced) {
    TraceSelection nothing;
    launch::Listener::Options listening{
        .config = collector_config(options, traced ? selection : nothing,
                                   metrics ? metrics->cupti() : cupti_candidates(options.cupti)),
        .salvage_program = traced ? (library_folder() / "gpuprof-salvage").string() : "",
        .message = [this](std::int64_t process, const std::string& text) {
          log.say_of(process, text);
        }};
    if (metrics) {
      listening.config_for = [this](std::uint32_t stream, const wire::Fields& hello) {
        return metrics->config_for(stream, hello);
      };
      listening.question = [this](const wire::Fields& question, launch::Listener::Reply reply) {
        metrics->answer(question, std::move(reply));
      };
      listening.metrics_notice = [this](std::int64_t process, std::string_view name,
                                        const std::string& text) {
        notices.take(process, name, text);
      };
    }
    return listening;
  }

  // A Ctrl-C that the program got as well counts as the first of two.
  void listen_for_the_end() { ends.listen(ended_by_user() ? 1 : 2); }
  bool ended_by_user() const { return target.was_interrupted() || ends.asked() > 0; }

  void start_target(const launch::Listener& listener, launch::Target::Output output) {
    std::vector<std::string> variables =
        launch::injection(collector, listener.socket_path(), selection.runtimes);
    if (!options.store_command_line) variables.emplace_back("GPUPROF_NO_COMMAND_LINE=1");
    target.start(options.application, variables, output);
  }
};

void end_recording(launch::Listener& listener) {
  listener.stop(true);
  while (listener.active() > 0) std::this_thread::sleep_for(milliseconds(1));
}

// Ends a target that hangs because it is measured: it will be run again without. True when it was.
bool end_if_hanging(launch::Target& target, MetricSession& metrics, MetricNotices& notices,
                    Log& log) {
  const std::vector<std::string> kernels = notices.hanging();
  for (const std::string& kernel : kernels) metrics.leave_out(kernel);
  if (kernels.empty()) return false;
  log.say("this run is ended; it is made again without measuring that");
  kill(target.process(), SIGKILL);
  return true;
}

// Launches of the first run that were not measured, by reason.
std::string launches_passed_over(Recorder& recorder) {
  constexpr std::pair<const char*, const char*> reasons[] = {
      {"metrics_skipped_graph", "CUDA graphs"},
      {"metrics_skipped_capture", "captured into graphs"},
      {"metrics_skipped_excluded", "left out because they may wait for others"},
      {"metrics_skipped_failed", "after measuring had failed"},
      {"metrics_skipped_unanswered", "before it was known whether they are meant"},
  };
  std::string text;
  for (const auto& [statistic, reason] : reasons) {
    std::int64_t launches = 0;
    for (store::Loader* loader : recorder.loaders()) {
      auto sum = loader->database().prepare("SELECT sum(value) FROM STATISTIC WHERE name = ?1");
      if (sum.bind(1, std::string_view(statistic)).step()) launches += sum.integer(0);
    }
    if (launches == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(launches) + " " + reason;
  }
  return text;
}

void print_metrics(const MetricSession& metrics, Recorder& recorder, Log& log) {
  std::string text = "metrics: " + std::to_string(metrics.ranges()) + " measurements of launches";
  if (metrics.mismatched() > 0) {
    text += "; " + std::to_string(metrics.mismatched()) +
            " were of other launches than in the first run and were not joined (view metric_gaps)";
  }
  if (metrics.names_given_up() > 0) {
    text += "; " + std::to_string(metrics.names_given_up()) +
            " names took too long to search for what was asked for, and count as others";
  }
  const std::string others = launches_passed_over(recorder);
  if (!others.empty()) text += "; launches that were not measured: " + others;
  log.say(text);
}

// A run after the first: only measured, its output goes nowhere. False: it hung and has to be made
// again.
bool run_again(Runs& runs) {
  launch::FrameQueue queue(queue_bytes, runs.folder);
  launch::Listener listener(runs.listener_options(false), queue);
  LoadingThread loading(runs.recorder, queue, runs.log, runs.ends, runs.metrics);
  runs.ends.leave();
  runs.start_target(listener, launch::Target::Output::nowhere);
  bool hung = false;
  auto left_ms = runs.options.timeout_ms;
  for (constexpr int step_ms = 200; !runs.target.wait(step_ms); left_ms -= step_ms) {
    if (left_ms > 0 && left_ms <= step_ms) kill(runs.target.process(), SIGTERM);
    hung |= end_if_hanging(runs.target, *runs.metrics, runs.notices, runs.log);
  }
  runs.listen_for_the_end();
  wait_for_the_others(runs.ends, listener, runs.log, runs.options.quiet);
  end_recording(listener);
  queue.close();
  loading.finish();
  return !hung;
}

void measure_again(Runs& runs, int first_exit_code) {
  constexpr int most_attempts = 3;
  // What hung in the first run came back, or the program was ended: later runs leave it alone.
  for (const std::string& kernel : runs.notices.hanging()) runs.metrics->leave_out(kernel);
  for (std::size_t run = 1; run < runs.metrics->runs() && !runs.ended_by_user(); ++run) {
    if (!runs.options.quiet) {
      runs.log.say("metrics: run " + std::to_string(run + 1) + " of " +
                   std::to_string(runs.metrics->runs()));
    }
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      runs.metrics->begin_run(run);
      if (run_again(runs)) break;
    }
    if (runs.target.exit_code() != first_exit_code) {
      runs.log.say("metrics: in run " + std::to_string(run + 1) + " the program ended with " +
                   std::to_string(runs.target.exit_code()) + " and not with " +
                   std::to_string(first_exit_code) + " as before");
    }
  }
}

int record(const Options& options, launch::Target& target, launch::EndRequests& ends) {
  const TraceSelection selection = select_trace(options);
  const std::string collector = collector_library();
  try {
    launch::look_up(options.application[0]);
  } catch (const Error& error) {
    throw_not_started(error, options);
  }
  std::optional<TemporaryFolder> temporary;
  if (options.output.empty()) temporary.emplace();
  const std::string output = temporary ? *temporary / "run.sqlite" : options.output;
  const bool report = !options.quiet && (temporary || !options.reports.chosen.empty());

  ends.listen(1);
  Log log(options, false, 0);
  const std::unique_ptr<MetricSession> metrics = prepare_metrics(options, log);
  Recorder recorder(
      {.output = output,
       .files = {.overwrite = options.overwrite, .mode = options.file_mode},
       .loader = {.live = true,
                  .indexes = options.indexes,
                  .when_locked = LockWait(log, ends),
                  .message = [&log](std::int64_t process,
                                    const std::string& text) { log.say_of(process, text); },
                  .hurried = [&ends] { return ends.hurried(); },
                  .object_names = given_names(options)},
       .capture = options.save_capture,
       .say = [&log](const std::string& text) { log.say(text); }});
  MetricNotices notices(log);
  Runs runs{options, selection, collector, folder_of(output), target,
            ends,    log,       recorder,  metrics.get(),     notices};
  launch::FrameQueue queue(queue_bytes, runs.folder);
  if (metrics) metrics->begin_run(0);
  launch::Listener listener(runs.listener_options(true), queue);
  queue.push(run_frame(describe_run(options, selection.groups)));
  if (metrics) {
    queue.push(metrics->description());
    metrics->set_tell_collector([&listener](std::uint32_t stream, const wire::Fields& fields) {
      listener.tell(stream, fields);
    });
  }
  LoadingThread loading(recorder, queue, log, ends, metrics.get());
  for (const Option* option : options.without_effect) {
    if (!options.quiet) log.say("--" + option->name + ": " + remark(*option));
  }

  ends.leave();
  try {
    runs.start_target(listener, launch::Target::Output::ours);
  } catch (const Error& error) {
    end_recording(listener);
    queue.close();
    loading.finish();
    throw_not_started(error, options);
  }
  log.open(target.process());
  bool announced = !report;
  const auto announce = [&] {
    if (std::exchange(announced, true)) return;
    log.line(prefix_of(target.process()) + "GPUPROF is profiling process " +
             std::to_string(target.process()) + ", command: " + words(options));
  };
  wait_for_target(target, listener, options, log, announce);
  runs.listen_for_the_end();
  // From here on a reader of reports who has seen enough must not end us.
  signal(SIGPIPE, SIG_IGN);
  wait_for_the_others(ends, listener, log, options.quiet);
  end_recording(listener);
  const TargetEnd ended(target);

  wire::Fields end;
  end.set("target_process_id", static_cast<std::int64_t>(ended.process));
  end.set("t1_realtime_ns", realtime_ns());
  if (WIFEXITED(ended.status)) end.set("exit_status", WEXITSTATUS(ended.status));
  if (WIFSIGNALED(ended.status)) end.set("exit_signal", WTERMSIG(ended.status));
  queue.push(run_frame(end));
  queue.close();
  show_backlog(queue, options.quiet);
  if (!loading.finish()) return static_cast<int>(ExitCode::output_failed);
  if (metrics && listener.seen() > 0) measure_again(runs, ended.exit_code);

  const launch::FrameQueue::Counts counts = queue.counts();
  if (counts.spilled_bytes) recorder.count("spilled_bytes", counts.spilled_bytes);
  if (counts.discarded_bytes) recorder.count("bytes_discarded", counts.discarded_bytes);
  if (counts.discarded_blocks) recorder.count("blocks_discarded", counts.discarded_blocks);
  if (const std::size_t lost = listener.silent() + listener.turned_away()) {
    recorder.count("not_profiled", lost);
    recorder.explain("not_profiled", cut_off(lost));
  }
  if (listener.unaccounted()) recorder.count("stream_cut", listener.unaccounted());
  if (metrics && metrics->mismatched()) recorder.count("metrics_mismatched", metrics->mismatched());
  recorder.finish();
  if (ends.hurried()) {
    if (!temporary && !options.quiet) print_outcome(recorder, log);
    return ended.exit_code;
  }
  for (store::Loader* loader : recorder.loaders()) {
    loader->database().watch([&ends] { return ends.hurried(); });
  }

  if (listener.seen() == 0 && listener.silent() > 0) {
    if (!options.quiet) log.say("no CUDA activity was captured: " + cut_off(listener.silent()));
  } else if (listener.seen() == 0) {
    if (!options.quiet) print_nothing_captured(log, driver_found(), report);
  } else {
    announce();
    if (!options.quiet) print_unavailable(recorder, log, options);
    if (metrics && !options.quiet) print_metrics(*metrics, recorder, log);
    if (report) print_run(recorder, log, options, ended.process);
  }
  if (!temporary && !options.quiet) print_outcome(recorder, log);
  if (report) print_exit(ended, log);
  if (recorder.failed() || log.lost()) return static_cast<int>(ExitCode::output_failed);
  if (options.fail_if_empty && ended.exit_code == 0 && recorder.totals().records == 0) {
    throw Error("nothing was recorded", "without --fail-if-empty this is no failure",
                ExitCode::nothing_recorded);
  }
  return ended.exit_code;
}

}  // namespace

int run_command(const Options& options) {
  if (options.application.empty()) return show_plan(options);
  // Signals are held back first, so that every thread made from here on leaves them to us.
  launch::Target target;
  launch::EndRequests ends(options.quiet);
  try {
    const int exit_code = record(options, target, ends);
    return ends.hurried() ? ends.exit_code() : exit_code;
  } catch (const Error&) {
    if (ends.hurried()) return ends.exit_code();
    throw;
  }
}

}  // namespace gpuprof::app
