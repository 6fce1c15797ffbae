// PM sampling alongside a run: what is sampled, and the process that does it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/record/launch/listener.hpp"
#include "libprof/record/run.hpp"
#include "libprof/wire/sampling.hpp"

namespace gpuprof::app {

// For the main thread only.
class PmSampling {
 public:
  // Probes the GPUs and checks that the metrics fit. Throws gpuprof::Error for unknown names or too
  // many, and if nothing can be sampled here (ExitCode::no_metrics, no_driver).
  PmSampling(const Options& options, record::Say say);

  // Adds what the sampler needs to the listener's options.
  void listen(launch::Listener::Options& listening);
  // Starts the sampler and waits until it samples. If it cannot, either the sampler or this
  // function reports why.
  void start(const record::Run& run, const launch::EndRequests& ends);
  // Reports how the sampler ended, if it has. Call before Run::stop_listening().
  void look_after();
  const std::vector<std::string>& metrics() const { return config_.metrics; }
  // The number of sampled devices.
  int devices() const { return devices_.load(); }
  bool running() { return sampler_ && !sampler_->ended(); }

 private:
  const record::Say say_;
  wire::PmConfig config_;
  std::optional<HelperProcess> sampler_;
  static constexpr int not_known = -1;
  std::atomic<int> devices_{not_known};  // set by the listener's thread
};

// Null if it was not requested, or is unavailable: that was reported, and the run continues without
// it.
std::unique_ptr<PmSampling> prepare_pm_sampling(const Options& options, const record::Say& say);

}  // namespace gpuprof::app
