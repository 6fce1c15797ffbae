// PM sampling beside a run: what is sampled, and the program that does it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/launch/helper_process.hpp"
#include "libprof/launch/listener.hpp"
#include "libprof/record/run.hpp"
#include "libprof/wire/sampling.hpp"

namespace gpuprof::app {

// Belongs to the main thread.
class PmSampling {
 public:
  // Asks which GPUs there are and whether the metrics fit. Throws gpuprof::Error for names that
  // mean nothing or too many, and when nothing can be sampled here (ExitCode::no_metrics,
  // no_driver).
  PmSampling(const Options& options, record::Say say);

  // Adds to what a listener does what the sampler needs.
  void listen(launch::Listener::Options& listening);
  // Starts the sampler and waits until it samples. What keeps it from that is told, by itself or
  // here.
  void start(const record::Run& run, const launch::EndRequests& ends);
  // Says how the sampler ended, if it is gone already. Before Run::stop_listening().
  void look_after();
  const std::vector<std::string>& metrics() const { return config_.metrics; }
  // Devices that are sampled.
  int devices() const { return devices_.load(); }
  bool running() { return sampler_ && !sampler_->ended(); }

 private:
  const record::Say say_;
  wire::PmConfig config_;
  std::optional<launch::HelperProcess> sampler_;
  static constexpr int not_known = -1;
  std::atomic<int> devices_{not_known};  // set by the listener's thread
};

// Null: none was asked for, or none can be had, which was told, and the run goes on without.
std::unique_ptr<PmSampling> prepare_pm_sampling(const Options& options, const record::Say& say);

}  // namespace gpuprof::app
