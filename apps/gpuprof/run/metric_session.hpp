// The metrics of a run: planned before the target starts, evaluated while it runs, and joined
// across the runs of application replay. Combines the parts of libprof/metrics.
#pragma once

#include <cstdint>
#include <future>
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
  // Probes the GPUs, looks up the metrics and plans. Throws gpuprof::Error for unknown names, and
  // if metrics cannot be collected here (ExitCode::no_metrics, no_driver).
  explicit MetricSession(const Options& options);

  // Sets how configuration is sent to the collector of a stream. Called from take().
  void set_tell_collector(metrics::Evaluation::TellCollector tell) {
    evaluation_.set_tell_collector(std::move(tell));
  }

  // The number of times that the target must run.
  std::size_t runs() const { return plan_.runs(); }
  // The libcupti that evaluates, which must also be the one that collects.
  std::string cupti() const { return library_->path(); }
  // The plan as text: groups, passes, cost.
  std::string plan_text() const { return plan_.text(); }
  // What sets lack here, sentences.
  const std::vector<std::string>& notes() const { return plan_.notes(); }
  // For ranges: the metrics that fit into a single run.
  const std::vector<std::string>& most_of_one_run() const { return plan_.most_of_one_run(); }
  // For the database.
  wire::Frame description() const { return plan_.description(); }

  // Starts a run; the next two functions belong to it. Called again if a run is repeated.
  void begin_run(std::size_t run);
  // The configuration for a process's collector. Called on the listener's thread.
  wire::Fields config_for(std::uint32_t stream, const wire::Fields& hello);
  // Answers a collector's question. Called on the listener's thread.
  void answer(const wire::Fields& question, metrics::Selection::Reply reply) const;
  // What the recorder gets instead of a frame: the frame itself, its values, or nothing. Called on
  // the loading thread. Throws wire::StreamError if the frame is invalid.
  std::vector<wire::Frame> take(wire::Frame frame);
  // The stream that the process had in the first run, which is the one recorded. nullopt if the
  // first run had no such process.
  std::optional<std::uint32_t> recorded_stream(std::uint32_t stream) const {
    return processes_.find(stream).recorded_stream;
  }

  // A process could not be measured: what is known of the devices is no longer believed. Any
  // thread.
  void failed() const;
  // Excludes a kernel that hung while it was measured from later runs.
  void leave_out(const std::string& kernel);

  // Valid after the last run: launches of later runs that did not match the first, and measured
  // ranges.
  std::uint64_t mismatched() const { return evaluation_.mismatched(); }
  std::uint64_t ranges() const { return evaluation_.ranges(); }
  std::vector<std::string> without_numbers() const { return evaluation_.without_numbers(); }
  // Names for which a pattern search timed out; they were treated as not matching.
  std::uint64_t names_given_up() const { return selection_->gave_up(); }

 private:
  MetricSession(const Options& options,
                std::future<std::shared_ptr<const cupti::HostLibrary>> library);

  const std::vector<std::string> chips_;
  const std::shared_ptr<const cupti::HostLibrary> library_;
  const std::string cupti_;  // as chosen by the user
  const metrics::RunPlan plan_;
  const std::shared_ptr<metrics::Selection> selection_;
  const TemporaryFolder folder_;  // for images between passes
  metrics::LaunchTable launches_;
  metrics::Processes processes_;
  metrics::Evaluation evaluation_;
  std::size_t last_run_ = 0;
};

}  // namespace gpuprof::app
