#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/cupti_paths.hpp"
#include "apps/gpuprof/given_names.hpp"
#include "apps/gpuprof/log.hpp"
#include "apps/gpuprof/option_table.hpp"
#include "apps/gpuprof/output.hpp"
#include "apps/gpuprof/recorder.hpp"
#include "apps/gpuprof/run_info.hpp"
#include "apps/gpuprof/trace.hpp"
#include "libprof/base/error.hpp"
#include "libprof/launch/frame_queue.hpp"
#include "libprof/launch/listener.hpp"
#include "libprof/launch/target.hpp"

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

wire::Fields collector_config(const Options& options, const TraceSelection& selection) {
  wire::Fields config;
  std::string kinds;
  for (const int kind : selection.kinds) kinds += (kinds.empty() ? "" : ",") + std::to_string(kind);
  config.set("kinds", kinds);
  config.set("launch_calls_only", static_cast<std::int64_t>(selection.launch_calls_only));
  config.set("from_start", static_cast<std::int64_t>(options.profile_from_start));
  config.set("flush_ms", static_cast<std::int64_t>(options.flush_ms));
  config.set("cupti", cupti_candidates(options.cupti));
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
std::string words(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

// Loads what comes out of the queue, on a thread of its own. The database belongs to that thread
// until finish(). When the database fails, the rest of the run is drained and thrown away: the
// target must not notice.
class LoadingThread {
 public:
  LoadingThread(Recorder& recorder, launch::FrameQueue& queue, Log& log)
      : recorder_(recorder), queue_(queue), log_(log), thread_([this] { run(); }) {}

  // Returns when the queue is exhausted. false: recording ended early, which was reported.
  bool finish() {
    thread_.join();
    return !failed_;
  }

 private:
  void run() {
    auto last_commit = steady_clock::now();
    bool uncommitted = false;
    while (!queue_.exhausted()) {
      wire::Frame frame;
      const bool got = queue_.pop(frame, commit_interval);
      if (failed_) continue;
      try {
        if (got) recorder_.take(std::move(frame));
        uncommitted |= got;
        if (uncommitted && steady_clock::now() - last_commit >= commit_interval) {
          recorder_.commit();
          last_commit = steady_clock::now();
          uncommitted = false;
        }
      } catch (const std::exception& error) {
        // Said at once, not only when the target has ended, which may be hours away.
        failed_ = true;
        std::string text =
            error.what() + std::string("; nothing more is recorded, the program runs on");
        if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->hint().empty()) {
          text += "\n  " + ours->hint();
        }
        log_.say(text);
      }
    }
  }

  Recorder& recorder_;
  launch::FrameQueue& queue_;
  Log& log_;
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
void wait_for_the_others(launch::Target& target, launch::Listener& listener, Log& log, bool quiet) {
  const auto since = steady_clock::now();
  bool told = false;
  while (listener.active() > 0) {
    if (target.interrupted(20)) return;
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
  log.line(prefix_of(process) + "Profiling application: " + words(options.application));
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

// Nothing came: why, as far as it is known. nvprof's words where it is the driver that is missing.
void print_nothing_captured(Log& log, bool driver, bool report) {
  if (driver) {
    log.say(
        "no CUDA activity was captured: the program did not use CUDA, or ended before its first "
        "call");
    return;
  }
  log.line("======== Warning: unable to locate cuda driver library, GPU profiling skipped");
  if (report) log.line("======== Warning: No profile data collected.");
}

// nvprof's line when there is no such program; what else is wrong stays as it is said.
[[noreturn]] void throw_not_started(const Error& error, const std::string& program) {
  const bool missing = std::string_view(error.what()).ends_with(std::strerror(ENOENT));
  const bool has_folder = program.find('/') != program.npos;
  if (!missing || (has_folder && std::filesystem::exists(program))) throw error;
  NvprofError not_found{{"Error: application not found."}, ExitCode::application_not_found};
  if (!has_folder && std::filesystem::exists(program)) {
    not_found.lines.push_back("It is in this folder: ./" + program);
  }
  throw not_found;
}

// As nvprof's last line.
void print_exit(const launch::Target& target, Log& log) {
  if (target.exit_code() == 0) return;
  log.line(std::string("======== Error: Application ") +
           (WIFSIGNALED(target.status()) ? "received signal " : "returned non-zero code ") +
           std::to_string(target.exit_code()));
}

}  // namespace

int run_command(const Options& options) {
  const TraceSelection selection = select_trace(options);
  const std::string collector = collector_library();
  std::optional<TemporaryProfile> temporary;
  if (options.output.empty()) temporary.emplace();
  const std::string output = temporary ? temporary->path() : options.output;
  const bool report = !options.quiet && (temporary || !options.reports.chosen.empty());

  // Signals are held back first, so that every thread made from here on leaves them to us.
  launch::Target target;
  Log log(options, false, 0);
  Recorder recorder({.output = output,
                     .overwrite = options.overwrite,
                     .loader = {.live = true, .indexes = options.indexes},
                     .capture = options.save_capture});
  launch::FrameQueue queue(queue_bytes, folder_of(output));
  launch::Listener listener({.config = collector_config(options, selection),
                             .salvage_program = (library_folder() / "gpuprof-salvage").string(),
                             .message =
                                 [&log](std::int64_t process, const std::string& text) {
                                   log.say("process " + std::to_string(process) + ": " + text);
                                 }},
                            queue);
  queue.push(run_frame(describe_run(options, selection.groups)));
  LoadingThread loading(recorder, queue, log);
  for (const Option* option : options.without_effect) {
    if (!options.quiet) log.say("--" + option->name + ": " + remark(*option));
  }

  const auto end_recording = [&] {
    listener.stop(true);
    while (listener.active() > 0) std::this_thread::sleep_for(milliseconds(1));
  };
  try {
    target.start(options.application,
                 {"CUDA_INJECTION64_PATH=" + collector, "NVTX_INJECTION64_PATH=" + collector,
                  "GPUPROF_SOCKET=" + listener.socket_path()});
  } catch (const Error& error) {
    end_recording();
    queue.close();
    loading.finish();
    for (const std::string& file : recorder.files()) std::filesystem::remove(file);
    if (!options.quiet && !driver_found()) print_nothing_captured(log, false, false);
    throw_not_started(error, options.application[0]);
  }
  log.open(target.process());
  bool announced = !report;
  const auto announce = [&] {
    if (std::exchange(announced, true)) return;
    log.line(prefix_of(target.process()) + "GPUPROF is profiling process " +
             std::to_string(target.process()) + ", command: " + words(options.application));
  };
  wait_for_target(target, listener, options, log, announce);
  // From here on a reader of reports who has seen enough must not end us.
  signal(SIGPIPE, SIG_IGN);
  wait_for_the_others(target, listener, log, options.quiet);
  end_recording();

  wire::Fields end;
  end.set("target_process_id", static_cast<std::int64_t>(target.process()));
  end.set("t1_realtime_ns", realtime_ns());
  if (WIFEXITED(target.status())) end.set("exit_status", WEXITSTATUS(target.status()));
  if (WIFSIGNALED(target.status())) end.set("exit_signal", WTERMSIG(target.status()));
  queue.push(run_frame(end));
  queue.close();
  show_backlog(queue, options.quiet);
  if (!loading.finish()) return static_cast<int>(ExitCode::output_failed);

  const launch::FrameQueue::Counts counts = queue.counts();
  if (counts.spilled_bytes) recorder.count("spilled_bytes", counts.spilled_bytes);
  if (counts.discarded_bytes) recorder.count("bytes_discarded", counts.discarded_bytes);
  if (counts.discarded_blocks) recorder.count("blocks_discarded", counts.discarded_blocks);
  recorder.finish();
  for (store::Loader* loader : recorder.loaders()) give_names(loader->database(), options);

  if (listener.seen() == 0) {
    if (!options.quiet) print_nothing_captured(log, driver_found(), report);
  } else {
    announce();
    if (!options.quiet) print_unavailable(recorder, log, options);
    if (report) print_run(recorder, log, options, target.process());
    if (!temporary && !options.quiet) print_outcome(recorder, log);
  }
  if (report) print_exit(target, log);
  return target.exit_code();
}

}  // namespace gpuprof::app
