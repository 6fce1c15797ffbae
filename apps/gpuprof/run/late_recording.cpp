#include "apps/gpuprof/run/late_recording.hpp"

#include <cstdint>
#include <string_view>

#include "apps/gpuprof/run/recording.hpp"
#include "apps/gpuprof/run/run_output.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/path.hpp"
#include "libprof/record/run_info.hpp"

namespace gpuprof::app {

LateRecording::LateRecording(const Options& options, pid_t process, const MakeMetrics& make_metrics)
    : options_(options),
      selection_(record::select_trace(options.trace)),
      ends_(options.quiet),
      log_(options, false, process),
      say_([this](const std::string& text) { log_.say(text); }),
      temporary_(options.output.empty() ? std::optional<TemporaryFolder>(std::in_place)
                                        : std::nullopt),
      output_(temporary_ ? *temporary_ / "run.sqlite" : options.output),
      metrics_(options.metrics.requests.empty() ? nullptr : make_metrics(log_)),
      recorder_(recorder_options(options, output_, log_, ends_, say_, {})),
      notices_(say_),
      common_{.target = target_,
              .ends = ends_,
              .recorder = recorder_,
              .say = say_,
              .conversion = metrics_ ? conversion_for(*metrics_) : record::Conversion{},
              .folder = folder_of(output_),
              .command = {},
              .collector = collector_library(),
              .runtimes = {}} {
  ends_.listen(2);
}

launch::Listener::Options LateRecording::listener_options(const record::TraceSelection& selection,
                                                          const std::string& cupti) {
  launch::Listener::Options listening{
      .config = collector_config(options_, selection, cupti),
      .salvage_program = (library_folder() / "gpuprof-salvage").string(),
      .message = [this](std::int64_t id, const std::string& text) { log_.say_of(id, text); }};
  if (metrics_) listen_for_metrics(listening, *metrics_, notices_);
  return listening;
}

void LateRecording::begin(record::Run& run, const std::vector<std::string>& command) {
  run.push(record::begin_of_run(run_info(options_, selection_, command)));
  if (!metrics_) return;
  run.push(metrics_->description());
  metrics_->set_tell_collector(
      [&run](std::uint32_t stream, const wire::Fields& fields) { run.tell(stream, fields); });
}

void LateRecording::finish(record::Run& run) {
  run.count_losses();
  if (metrics_ && metrics_->mismatched() > 0) {
    recorder_.count("metrics_mismatched", metrics_->mismatched());
  }
  recorder_.finish();
  if (!metrics_ || options_.quiet) return;
  const std::string missing = unmeasured(*metrics_, recorder_);
  if (!missing.empty()) log_.say("metrics: " + missing);
}

int LateRecording::exit_code() const {
  return whole_ && !recorder_.failed() ? 0 : static_cast<int>(ExitCode::output_failed);
}

}  // namespace gpuprof::app
