// The metrics of a run: planned before the target starts, evaluated while it runs, and joined over
// the runs that application replay takes. Holds together what libprof/metrics has for that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/metrics/evaluation.hpp"
#include "libprof/metrics/launch_table.hpp"
#include "libprof/metrics/processes.hpp"
#include "libprof/metrics/run_plan.hpp"
#include "libprof/metrics/selection.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::app {

class MetricSession {
 public:
  // Asks which GPUs there are, looks the metrics up and plans. Throws gpuprof::Error for names that
  // mean nothing, and when no metrics can be collected here (ExitCode::no_metrics, no_driver).
  explicit MetricSession(const Options& options);

  // What to do with configuration for the collector of a stream. Called from take().
  void set_tell_collector(metrics::Evaluation::TellCollector tell) {
    evaluation_.set_tell_collector(std::move(tell));
  }

  // How often the target has to run.
  std::size_t runs() const { return plan_.runs(); }
  // The libcupti that evaluates, and so the one to collect with.
  std::string cupti() const { return library_->path(); }
  // Lines of text: groups, passes, cost.
  std::string plan_text() const { return plan_.text(); }
  // Of ranges: names of the metrics that one run would do for.
  const std::vector<std::string>& most_of_one_run() const { return plan_.most_of_one_run(); }
  // For the database.
  wire::Frame description() const { return plan_.description(); }

  // Of one run, from its start on: the next two belong to it. Once more for a run that is made
  // again.
  void begin_run(std::size_t run);
  // What the collector of a process is told. On the listener's thread.
  wire::Fields config_for(std::uint32_t stream, const wire::Fields& hello);
  // What a collector asks. On the listener's thread.
  void answer(const wire::Fields& question, metrics::Selection::Reply reply) const;
  // What the recorder gets of a frame: itself, its values, or nothing. On the loading thread.
  // Throws wire::StreamError when the frame makes no sense.
  std::vector<wire::Frame> take(wire::Frame frame);
  // What a process's stream was in the first run, which the recorder has. Nothing: the first run
  // had no such process.
  std::optional<std::uint32_t> recorded_stream(std::uint32_t stream) const {
    return processes_.find(stream).recorded_stream;
  }

  // Kernels that hung when they were measured; later runs leave them alone.
  void leave_out(const std::string& kernel);

  // After the last run. Launches of later runs that were not those of the first; ranges measured.
  std::uint64_t mismatched() const { return evaluation_.mismatched(); }
  std::uint64_t ranges() const { return evaluation_.ranges(); }
  // Names in which a pattern took too long to search: they were taken for others than are meant.
  std::uint64_t names_given_up() const { return selection_->gave_up(); }

 private:
  MetricSession(const Options& options, std::vector<std::string> chips);

  const std::shared_ptr<const cupti::HostLibrary> library_;
  const metrics::RunPlan plan_;
  const std::shared_ptr<metrics::Selection> selection_;
  const TemporaryFolder folder_;  // of images between passes
  metrics::LaunchTable launches_;
  metrics::Processes processes_;
  metrics::Evaluation evaluation_;
  std::size_t last_run_ = 0;
};

}  // namespace gpuprof::app
