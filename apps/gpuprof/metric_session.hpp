// The metrics of a run: planned before the target starts, evaluated while it runs, and joined over
// the runs that application replay takes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/gpuprof/device_probe.hpp"
#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/evaluator.hpp"
#include "libprof/metrics/launch_table.hpp"
#include "libprof/metrics/means.hpp"
#include "libprof/metrics/plan.hpp"
#include "libprof/metrics/selection.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::app {

class MetricSession {
 public:
  // Asks which GPUs there are, looks the metrics up and plans. Throws gpuprof::Error for names that
  // mean nothing, and when no metrics can be collected here (ExitCode::no_metrics, no_driver).
  explicit MetricSession(const Options& options);
  ~MetricSession();
  MetricSession(const MetricSession&) = delete;
  MetricSession& operator=(const MetricSession&) = delete;

  // What to do with configuration for the collector of a stream. Called from take().
  using TellCollector = std::function<void(std::uint32_t stream, const wire::Fields& fields)>;
  void set_tell_collector(TellCollector tell) { tell_collector_ = std::move(tell); }

  // How often the target has to run.
  std::size_t runs() const { return runs_; }
  // The libcupti that evaluates, and so the one to collect with.
  std::string cupti() const { return library_->path(); }
  // Lines of text: groups, passes, cost.
  std::string plan_text() const;
  // For the database.
  wire::Frame description() const;

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
  std::optional<std::uint32_t> recorded_stream(std::uint32_t stream);

  // Kernels that hung when they were measured; later runs leave them alone.
  void leave_out(const std::string& kernel);

  // After the last run. Launches of later runs that were not those of the first; ranges measured.
  std::uint64_t mismatched() const { return mismatched_; }
  std::uint64_t ranges() const { return ranges_; }
  // Names in which a pattern took too long to search: they were taken for others than are meant.
  std::uint64_t names_given_up() const { return selection_->gave_up(); }

 private:
  std::vector<ProbedDevice> usable_devices() const;
  void check_names_without_device() const;
  struct Chip;
  struct PlannedGroup;

  void make_folder();
  void plan_chip(Chip& chip);
  const PlannedGroup* group(std::uint32_t id) const;
  void assign_runs(const Chip& chip);
  std::uint32_t process_of(std::uint32_t stream);
  const cupti::HostChip& evaluator(const Chip& chip, std::uint32_t process, std::uint32_t device);

  const Options& options_;
  std::shared_ptr<const cupti::HostLibrary> library_;
  std::vector<std::unique_ptr<Chip>> chips_;
  std::vector<std::unique_ptr<PlannedGroup>> groups_;  // in the order of their ids, from 1
  std::vector<MetricRequest> scopes_;                  // requests that differ in what they measure
  std::shared_ptr<metrics::Selection> selection_;      // what the scopes are about
  wire::MetricsInfo info_;
  std::size_t runs_ = 1;
  std::unique_ptr<TemporaryFolder> folder_;  // of images between passes
  std::unique_ptr<metrics::LaunchTable> launches_;

  std::mutex mutex_;  // guards the next
  std::size_t run_ = 0;
  std::map<std::string, std::uint32_t> processes_;            // by what tells them apart
  std::map<std::string, std::uint32_t> met_;                  // in this run, how often
  std::map<std::uint32_t, std::uint32_t> process_of_stream_;  // of this run
  std::map<std::uint32_t, std::uint32_t> stream_of_process_;  // of the first run

  // The rest is the loading thread's, and between runs begin_run's.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<cupti::HostChip>>
      evaluators_;  // by process and device
  metrics::Means means_;
  TellCollector tell_collector_;
  // The last ordinals that this attempt at the run has delivered, and those before it: a run that
  // is made again delivers nothing twice.
  using RangesOf = std::array<std::uint32_t, 3>;  // process, context number, group
  std::map<RangesOf, std::uint64_t> has_;
  std::map<RangesOf, std::uint64_t> had_;
  std::uint64_t mismatched_ = 0;
  std::uint64_t ranges_ = 0;
};

}  // namespace gpuprof::app
