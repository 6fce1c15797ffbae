#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/option_table.hpp"
#include "apps/gpuprof/run/host_samples.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/measured_runs.hpp"
#include "apps/gpuprof/run/metric_session.hpp"
#include "apps/gpuprof/run/not_started.hpp"
#include "apps/gpuprof/run/pm_sampling.hpp"
#include "apps/gpuprof/run/recording.hpp"
#include "apps/gpuprof/run/roll_ups.hpp"
#include "apps/gpuprof/run/run_output.hpp"
#include "apps/gpuprof/run/viewer.hpp"
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

int show_plan(const Options& options) {
  std::cout << MetricSession(options).plan_text();
  return 0;
}

// Waits until the target has ended. On timeout it is sent a signal.
void wait_for_target(launch::Target& target, const Options& options, Log& log) {
  if (options.timeout_ms > 0 && !target.wait(options.timeout_ms)) {
    if (!options.quiet) {
      log.line(prefix_of(target.process()) +
               "Warning: The timeout has passed, the application gets SIGTERM.");
    }
    kill(target.process(), SIGTERM);
  }
  target.wait(-1);
}

std::string waiting_for(const std::vector<std::int64_t>& processes) {
  std::string text = "the program has ended; waiting for its process";
  if (processes.empty()) text += ", which has not said its number";
  if (processes.size() > 1) text += "es";
  for (const std::int64_t process : processes) text += " " + std::to_string(process);
  return text + " (Ctrl-C: wait no longer)";
}

// Waits until the first run is recorded. Returns false if recording ended early, as already
// reported.
bool end_recording(record::Run& run, bool quiet) {
  if (quiet || !isatty(2)) return run.end();
  bool shown = false;
  const bool whole = run.end([&](int percent) {
    shown = true;
    std::fprintf(stderr, "\rgpuprof: writing %3d %%", percent);
  });
  if (shown) std::fprintf(stderr, "\r                         \r");
  return whole;
}

// Checks that the collector and the program exist, before anything is created.
std::string checked_collector(const Options& options) {
  std::string collector = collector_library();
  try {
    launch::look_up(options.application[0]);
  } catch (const Error& error) {
    throw_not_started(error, options);
  }
  return collector;
}

// Everything that one command line requests, from the plan to the last line. For the main thread
// only.
class Recording {
 public:
  // Plans. Errors in the options are thrown here, before any file is touched.
  Recording(const Options& options, launch::Target& target, launch::EndRequests& ends);

  // Records the first run into the database. Returns false if recording ended early, as already
  // reported.
  bool record();
  // Further runs, if metrics need them.
  void repeat();
  void finish();
  // Prints the reports and the last line. Returns the exit code.
  int print();
  // Returns when the run is no longer being viewed.
  void wait_for_viewer() {
    if (viewer_ && !ends_.hurried()) viewer_->wait(ends_);
  }

 private:
  launch::Listener::Options listener_options(const record::TraceSelection& traced,
                                             const std::string& salvage);
  void start();
  void announce();

  const Options& options_;
  launch::Target& target_;
  launch::EndRequests& ends_;
  const record::TraceSelection selection_;
  const std::string collector_;
  std::optional<TemporaryFolder> temporary_;  // nullopt: there is an output
  const std::string output_;
  const bool report_;  // reports were requested, or there is no other output
  Log log_;
  const record::Say say_;
  const std::unique_ptr<MetricSession> metrics_;  // null: none
  const std::unique_ptr<PmSampling> sampling_;    // null: none
  std::optional<Viewer> viewer_;                  // nullopt: the run is not viewed
  std::optional<ProgressLine> line_;              // while the recorder finishes
  record::Recorder recorder_;
  MetricNotices notices_;
  record::Run::Common common_;
  std::optional<record::Run> run_;  // the first run
  HostSamples host_samples_;
  bool announced_ = false;
  std::optional<TargetEnd> ended_;
};

Recording::Recording(const Options& options, launch::Target& target, launch::EndRequests& ends)
    : options_(options),
      target_(target),
      ends_(ends),
      selection_(record::select_trace(options.trace)),
      collector_(checked_collector(options)),
      temporary_(options.output.empty() ? std::optional<TemporaryFolder>(std::in_place)
                                        : std::nullopt),
      output_(temporary_ ? *temporary_ / "run.sqlite" : options.output),
      report_(!options.quiet && (temporary_ || !options.reports.chosen.empty())),
      log_(options, false, 0),
      say_([this](const std::string& text) { log_.say(text); }),
      metrics_(prepare_metrics(options, log_)),
      sampling_(prepare_pm_sampling(options, say_)),
      recorder_(recorder_options(options, output_, log_, ends, say_,
                                 [this](std::string_view what) {
                                   if (line_) line_->show(what);
                                 })),
      notices_(say_),
      common_{.target = target,
              .ends = ends,
              .recorder = recorder_,
              .say = say_,
              .conversion = metrics_ ? conversion_for(*metrics_) : record::Conversion{},
              .folder = folder_of(output_),
              .command = options.application,
              .collector = collector_,
              .runtimes = selection_.runtimes,
              .store_command_lines = options.store_command_line,
              .control = control_options(options, selection_, say_)} {
  if (options.view) viewer_.emplace(output_, log_);
  if (options.quiet) return;
  const std::string other = launch::displaced_nvtx_tool(collector_);
  if (!other.empty()) {
    log_.say("NVTX_INJECTION64_PATH names " + other +
             ": gpuprof takes its place, and it gets no NVTX ranges");
  }
  const std::string plugin = launch::nccl_plugin(collector_);
  if (!plugin.empty()) {
    log_.say("NCCL_PROFILER_PLUGIN is " + plugin +
             ", so NCCL's operations are not recorded; unset it to record them");
  }
  common_.waits = [this](const auto& processes) { log_.say(waiting_for(processes)); };
}

launch::Listener::Options Recording::listener_options(const record::TraceSelection& traced,
                                                      const std::string& salvage) {
  launch::Listener::Options listening{
      .config = collector_config(
          options_, traced,
          metrics_ ? metrics_->cupti() : joined(collector_cupti_candidates(options_.cupti), "\n")),
      .salvage_program = salvage,
      .message = [this](std::int64_t process, const std::string& text) {
        log_.say_of(process, text);
      }};
  if (metrics_) listen_for_metrics(listening, *metrics_, notices_);
  listen_for_launches(listening, options_);
  return listening;
}

void Recording::start() {
  if (metrics_) metrics_->begin_run(0);
  launch::Listener::Options listening =
      listener_options(selection_, library_folder() / "gpuprof-salvage");
  if (sampling_) sampling_->listen(listening);
  host_samples_.begin(options_, listening, run_, log_);
  run_.emplace(common_, std::move(listening));
  run_->push(record::begin_of_run(run_info(options_, selection_, options_.application)));
  if (metrics_) {
    run_->push(metrics_->description());
    metrics_->set_tell_collector(
        [this](std::uint32_t stream, const wire::Fields& fields) { run_->tell(stream, fields); });
  }
  for (const Option* option : options_.without_effect) {
    if (!options_.quiet) log_.say("--" + option->name + ": " + remark(*option));
  }
  if (options_.trace.counts_instructions && !options_.quiet) {
    log_.say(
        "what instructions do is counted, so kernels and copies are not traced: with them CUPTI "
        "counts nothing, or hangs");
  }
  if (sampling_) {
    run_->begin();
    sampling_->start(*run_, ends_);
  }
  try {
    run_->start(launch::Target::Output::ours);
  } catch (const Error& error) {
    throw_not_started(error, options_);
  }
  log_.open(target_.process());
}

void Recording::announce() {
  if (!report_ || std::exchange(announced_, true)) return;
  log_.line(prefix_of(target_.process()) + "GPUPROF is profiling process " +
            std::to_string(target_.process()) + ", command: " + words(options_));
}

bool Recording::record() {
  start();
  if (run_->wait_for_a_process()) {
    announce();
    if (viewer_) viewer_->start();
  }
  wait_for_target(target_, options_, log_);
  run_->wait_for_the_others();
  if (sampling_) sampling_->look_after();
  run_->stop_listening();
  host_samples_.stop();
  if (run_->processes_seen() > 0) announce();
  ended_.emplace(target_);
  run_->push(record::end_of_run(ended_->process, ended_->status));
  return end_recording(*run_, options_.quiet);
}

void Recording::repeat() {
  if (!metrics_ || run_->processes_seen() == 0) return;
  measure_again({.common = common_,
                 .listening = listener_options({}, ""),
                 .metrics = *metrics_,
                 .notices = notices_,
                 .timeout_ms = options_.timeout_ms,
                 .progress = !options_.quiet},
                ended_->exit_code);
}

void Recording::finish() {
  run_->count_losses();
  if (metrics_ && metrics_->mismatched()) {
    recorder_.count("metrics_mismatched", metrics_->mismatched());
  }
  if (!options_.quiet) line_.emplace();
  recorder_.finish();
  line_.reset();
}

int Recording::print() {
  const bool outcome = !temporary_ && !options_.quiet && !options_.rolls_up;
  if (ends_.hurried()) {
    if (outcome) print_outcome(recorder_, log_, {.hang_after = options_.hang_after});
    return ended_->exit_code;
  }
  for (store::Loader* loader : recorder_.loaders()) {
    loader->database().watch([this] { return ends_.hurried(); });
  }
  print_results({recorder_, *run_, metrics_.get(), *ended_, report_}, options_, log_);
  if (outcome) print_outcome(recorder_, log_, {.hang_after = options_.hang_after});
  if (report_) print_exit(*ended_, log_);
  if (recorder_.failed() || log_.lost()) return static_cast<int>(ExitCode::output_failed);
  if (options_.fail_if_empty && ended_->exit_code == 0 && recorder_.totals().records == 0) {
    throw Error("nothing was recorded", "without --fail-if-empty this is not an error",
                ExitCode::nothing_recorded);
  }
  return ended_->exit_code;
}

int record_into(const Options& options, launch::Target& target, launch::EndRequests& ends) {
  ends.listen(1);
  Recording recording(options, target, ends);
  if (!recording.record()) return static_cast<int>(ExitCode::output_failed);
  recording.repeat();
  recording.finish();
  const int exit_code = recording.print();
  recording.wait_for_viewer();
  return exit_code;
}

int record_run(const Options& options, launch::Target& target, launch::EndRequests& ends) {
  if (options.ranks.empty()) return record_into(options, target, ends);
  Options its = options;
  const auto roll_ups = RollUps::begin(its);
  const int exit_code = record_into(its, target, ends);
  if (roll_ups && !roll_ups->finish()) return static_cast<int>(ExitCode::output_failed);
  return exit_code;
}

}  // namespace

int run_command(const Options& options) {
  if (options.application.empty()) return show_plan(options);
  // Block signals first, so that every thread created later leaves them to the main thread.
  launch::Target target;
  launch::EndRequests ends(options.quiet);
  try {
    const int exit_code = record_run(options, target, ends);
    return ends.hurried() ? ends.exit_code() : exit_code;
  } catch (const Error&) {
    if (ends.hurried()) return ends.exit_code();
    throw;
  }
}

}  // namespace gpuprof::app
