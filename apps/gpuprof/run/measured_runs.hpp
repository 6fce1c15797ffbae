// Runs of the target after the first, which only measure.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/metric_session.hpp"
#include "libprof/record/launch/listener.hpp"
#include "libprof/record/run.hpp"

namespace gpuprof::app {

// What the collectors of one run report about metrics.
class MetricNotices {
 public:
  explicit MetricNotices(record::Say say) : say_(std::move(say)) {}

  // Called on the listener's thread.
  void take(std::int64_t process, std::string_view name, const std::string& text);
  // Kernels that hung since the last call.
  std::vector<std::string> hanging();

 private:
  const record::Say say_;
  std::mutex mutex_;  // guards the next
  std::vector<std::string> hanging_;
  std::set<std::string> told_;
};

// Null if none were requested, or they are unavailable and the run continues without them.
std::unique_ptr<MetricSession> prepare_metrics(const Options& options, Log& log);

// Adds what metrics need to the listener's options.
void listen_for_metrics(launch::Listener::Options& listening, MetricSession& metrics,
                        MetricNotices& notices);
record::Conversion conversion_for(MetricSession& metrics);

struct MeasuredRuns {
  record::Run::Common& common;
  launch::Listener::Options listening;  // without metrics or tracing
  MetricSession& metrics;
  MetricNotices& notices;
  int timeout_ms;  // per run; 0: none
  bool progress;   // whether to report it
};

// Runs the target as often as the metrics need, with its output discarded. `first_exit_code` is the
// exit code of the first run.
void measure_again(const MeasuredRuns& runs, int first_exit_code);

}  // namespace gpuprof::app
