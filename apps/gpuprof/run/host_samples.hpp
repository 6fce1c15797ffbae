// --host-samples: a run's host::Sampler.
#pragma once

#include <memory>
#include <optional>

#include "apps/gpuprof/option/command_line.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/host/sampler.hpp"
#include "libprof/record/launch/listener.hpp"
#include "libprof/record/run.hpp"

namespace gpuprof::app {

// Ends before the run that it pushes into; the run's listener keeps the sampler until then.
class HostSamples {
 public:
  HostSamples() = default;
  ~HostSamples() { stop(); }
  HostSamples(const HostSamples&) = delete;
  HostSamples& operator=(const HostSamples&) = delete;

  // Begins if they are requested: from then on the processes that connect to `listening` are looked
  // at. What is seen is pushed into the run that is in `run` by then.
  void begin(const Options& options, launch::Listener::Options& listening,
             std::optional<record::Run>& run, Log& log);
  // Call before the run's end().
  void stop() {
    if (sampler_) sampler_->stop();
  }

 private:
  std::shared_ptr<host::Sampler> sampler_;  // null: none
};

}  // namespace gpuprof::app
