#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/command/outcome.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/live_samples.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/pm_sampling.hpp"
#include "apps/gpuprof/run/recording.hpp"
#include "apps/gpuprof/run/run_output.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/record/launch/end_requests.hpp"
#include "libprof/record/launch/target.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/record/run.hpp"
#include "libprof/record/run_info.hpp"

namespace gpuprof::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct SampleJob {
  Options options;
  std::optional<milliseconds> duration;  // absent: until the user ends it
  bool live = false;
};

int sample(SampleJob& job) {
  Options& options = job.options;
  options.pm.on = true;
  options.metrics.required = true;  // there is nothing else to do
  launch::Target target;            // blocks signals; nothing is started
  launch::EndRequests ends(options.quiet);
  // The first Ctrl-C ends sampling.
  ends.listen(2);
  Log log(options, false, getpid());
  const record::Say say = [&log](const std::string& text) { log.say(text); };
  const std::unique_ptr<PmSampling> sampling = prepare_pm_sampling(options, say);
  LiveSamples live(sampling->metrics());
  std::optional<TemporaryFolder> temporary;
  if (options.output.empty()) temporary.emplace();
  const std::string output = temporary ? *temporary / "run.sqlite" : options.output;
  record::Recorder recorder(recorder_options(options, output, log, ends, say, {}));
  record::Run::Common common{.target = target,
                             .ends = ends,
                             .recorder = recorder,
                             .say = say,
                             .conversion = {},
                             .folder = folder_of(output),
                             .command = {},
                             .collector = {},
                             .runtimes = {}};
  if (job.live) {
    common.conversion.convert = [&live](wire::Frame frame) {
      live.take(frame);
      std::vector<wire::Frame> same;
      same.push_back(std::move(frame));
      return same;
    };
    common.conversion.recorded_stream = [](std::uint32_t stream) { return std::optional(stream); };
  }
  launch::Listener::Options listening;
  listening.message = [&log](std::int64_t process, const std::string& text) {
    log.say_of(process, text);
  };
  sampling->listen(listening);
  record::Run run(common, std::move(listening));
  run.push(
      record::begin_of_run({.application = {},
                            .command_line = options.store_command_line ? options.command_line : "",
                            .trace_groups = {},
                            .step = {}}));
  run.begin();
  sampling->start(run, ends);
  const auto began = steady_clock::now();
  auto next_line = began + std::chrono::seconds(1);
  while (sampling->running() && sampling->devices() > 0 && ends.asked() == 0) {
    const auto now = steady_clock::now();
    if (job.duration && now - began >= *job.duration) break;
    if (job.live && now >= next_line) {
      next_line += std::chrono::seconds(1);
      try {
        for (const std::string& line : live.lines()) std::cout << line << '\n';
        std::cout.flush();
      } catch (const std::ios::failure&) {
        break;  // the reason is printed at the end
      }
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  const int devices = sampling->devices();
  sampling->look_after();
  run.stop_listening();
  run.push(record::end_of_run());
  const bool whole = run.end();
  run.count_losses();
  recorder.finish();
  if (!options.quiet && (temporary ? !job.live : !options.reports.chosen.empty())) {
    for (store::Loader* loader : recorder.loaders()) {
      log.report(loader->database(), options.reports.prefix);
    }
  }
  if (!options.quiet && devices <= 0) {
    log.say("nothing was sampled");
  } else if (!options.quiet && !temporary) {
    print_outcome(recorder, log);
  }
  if (!whole || recorder.failed()) return static_cast<int>(ExitCode::output_failed);
  return devices > 0 ? 0 : static_cast<int>(ExitCode::no_metrics);
}

void declare_sample(Grammar& grammar, SampleJob& job) {
  grammar.take("--duration", time_to(job.duration), "How long: 10s, 500ms, 5min; else until Ctrl-C",
               "TIME");
  grammar.take("--live", &job.live, "Print the means of each second");
  grammar.take_options(
      job.options, {"pm-metrics", "pm-interval", "pm-buffer", "pm-keep", "cupti", "save-capture"});
  grammar.take_output_options(job.options);
  grammar.take_report_options(job.options);
}

}  // namespace

extern const Subcommand sample_command{
    .name = "sample",
    .usage = "[-o FILE]",
    .help = "Sample counters of the GPUs over time, without a program",
    .declare = command<SampleJob, declare_sample, sample>,
};

}  // namespace gpuprof::app
