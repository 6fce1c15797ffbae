#include "apps/gpuprof/run/host_samples.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace gpuprof::app {

void HostSamples::begin(const Options& options, launch::Listener::Options& listening,
                        std::optional<record::Run>& run, Log& log) {
  if (options.host_samples == 0) return;
  sampler_ = std::make_shared<host::Sampler>(host::Sampler::Options{
      .interval = std::chrono::nanoseconds(std::chrono::seconds(1)) / options.host_samples,
      .push = [&run](wire::Frame frame) { run->push(std::move(frame)); },
      .say = [&log](pid_t process, const std::string& text) { log.say_of(process, text); }});
  listening.connected = [sampler = sampler_, others = std::move(listening.connected)](
                            std::uint32_t stream, std::int64_t process, pid_t here) {
    if (others) others(stream, process, here);
    if (here > 0) sampler->add(stream, here);
  };
}

}  // namespace gpuprof::app
