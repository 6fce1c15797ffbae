#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/output.hpp"
#include "apps/gpuprof/recorder.hpp"
#include "apps/gpuprof/run_info.hpp"
#include "apps/gpuprof/trace.hpp"
#include "gpuprof_paths.hpp"
#include "libprof/base/error.hpp"
#include "libprof/launch/frame_queue.hpp"
#include "libprof/launch/listener.hpp"
#include "libprof/launch/target.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t queue_bytes = std::size_t{128} << 20;
constexpr milliseconds commit_interval{250};

// The files that belong to the program lie beside it: PREFIX/bin/gpuprof, PREFIX/lib/gpuprof/….
std::filesystem::path library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "gpuprof";
}

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
  if (!chosen.empty()) return std::filesystem::absolute(chosen).string();
  std::string candidates = (library_folder() / "libcupti.so.13").string();
  for (const std::string_view more :
       {std::string_view("mapped"), std::string_view(cupti_fallback_path),
        std::string_view("libcupti.so.13"), std::string_view("libcupti.so.12")}) {
    if (!more.empty()) candidates += "\n" + std::string(more);
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

// Loads what comes out of the queue, on a thread of its own. The database belongs to that thread
// until finish(). When the database fails, the rest of the run is drained and thrown away: the
// target must not notice.
class LoadingThread {
 public:
  LoadingThread(Recorder& recorder, launch::FrameQueue& queue)
      : recorder_(recorder), queue_(queue), thread_([this] { run(); }) {}

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
        std::fprintf(stderr, "gpuprof: %s; nothing more is recorded, the program runs on\n",
                     error.what());
        if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->hint().empty()) {
          std::fprintf(stderr, "  %s\n", ours->hint().c_str());
        }
      }
    }
  }

  Recorder& recorder_;
  launch::FrameQueue& queue_;
  bool failed_ = false;  // the thread's own until finish()
  std::thread thread_;
};

// Processes of the run that outlive the target are waited for: they belong to it. Ctrl-C ends that.
void wait_for_the_others(launch::Target& target, launch::Listener& listener, bool quiet) {
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
    std::fprintf(stderr,
                 "gpuprof: the program has ended; waiting for its process%s%s (Ctrl-C: wait no "
                 "longer)\n",
                 listener.active() == 1 ? "" : "es", processes.c_str());
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

}  // namespace

int run_command(const Options& options) {
  const TraceSelection selection = select_trace(options.trace, options.concurrent_kernels);
  const std::string collector = collector_library();
  std::optional<TemporaryProfile> temporary;
  if (options.output.empty()) temporary.emplace();
  const std::string output = temporary ? temporary->path() : options.output;

  // Signals are held back first, so that every thread made from here on leaves them to us.
  launch::Target target;
  Recorder recorder({.output = output,
                     .overwrite = options.overwrite,
                     .loader = {.live = true, .indexes = options.indexes},
                     .capture = options.save_capture});
  launch::FrameQueue queue(queue_bytes, folder_of(output));
  launch::Listener listener({.config = collector_config(options, selection),
                             .salvage_program = (library_folder() / "gpuprof-salvage").string(),
                             .message =
                                 [](std::int64_t process, const std::string& text) {
                                   std::fprintf(stderr, "gpuprof: process %lld: %s\n",
                                                static_cast<long long>(process), text.c_str());
                                 }},
                            queue);
  queue.push(run_frame(describe_run(options, selection.groups)));
  LoadingThread loading(recorder, queue);

  const auto end_recording = [&] {
    listener.stop(true);
    while (listener.active() > 0) std::this_thread::sleep_for(milliseconds(1));
  };
  try {
    target.start(options.application,
                 {"CUDA_INJECTION64_PATH=" + collector, "NVTX_INJECTION64_PATH=" + collector,
                  "GPUPROF_SOCKET=" + listener.socket_path()});
  } catch (...) {
    end_recording();
    queue.close();
    loading.finish();
    for (const std::string& file : recorder.files()) std::filesystem::remove(file);
    throw;
  }
  target.wait(-1);
  wait_for_the_others(target, listener, options.quiet);
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

  if (listener.seen() == 0) {
    std::fprintf(stderr,
                 "gpuprof: no CUDA activity was captured: the program did not use CUDA, or ended "
                 "before its first call\n");
  } else if (temporary) {
    if (store::Loader* loader = recorder.only_loader()) {
      report::Options reports = options.reports;
      reports.prefix = "==" + std::to_string(target.process()) + "== ";
      report::print_reports(loader->database(), std::cerr, reports);
    }
  } else if (!options.quiet) {
    print_outcome(recorder);
  }
  return target.exit_code();
}

}  // namespace gpuprof::app
