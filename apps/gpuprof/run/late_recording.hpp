// What the commands that record running processes have in common, however the collector gets there.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "apps/gpuprof/run/measured_runs.hpp"
#include "apps/gpuprof/run/metric_session.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/record/launch/end_requests.hpp"
#include "libprof/record/launch/listener.hpp"
#include "libprof/record/launch/target.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/record/run.hpp"
#include "libprof/record/trace_selection.hpp"

namespace gpuprof::app {

// For the main thread. From its construction on the first signal asks for the end of the recording.
class LateRecording {
 public:
  LateRecording(const LateRecording&) = delete;
  LateRecording& operator=(const LateRecording&) = delete;

 protected:
  using MakeMetrics = std::function<std::unique_ptr<MetricSession>(Log&)>;

  // `process`: whom messages concern. `make_metrics`: called if any are requested.
  LateRecording(const Options& options, pid_t process, const MakeMetrics& make_metrics);
  ~LateRecording() = default;

  launch::Listener::Options listener_options(const record::TraceSelection& selection,
                                             const std::string& cupti);
  // Pushes what comes first. `run` outlives the metrics' replies.
  void begin(record::Run& run, const std::vector<std::string>& command);
  // Completes the files once the run has ended, and says what was not measured.
  void finish(record::Run& run);
  int exit_code() const;

  const Options& options_;
  const record::TraceSelection selection_;
  launch::Target target_;  // blocks signals; nothing is started
  launch::EndRequests ends_;
  Log log_;
  const record::Say say_;
  std::optional<TemporaryFolder> temporary_;  // nullopt: there is an output
  const std::string output_;
  const std::unique_ptr<MetricSession> metrics_;  // null: none requested
  record::Recorder recorder_;
  MetricNotices notices_;
  record::Run::Common common_;
  bool whole_ = false;
};

}  // namespace gpuprof::app
