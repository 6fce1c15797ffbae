// Live samples, as lines of text.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "libprof/wire/frame.hpp"

namespace gpuprof::app {

// take() is called on one thread, lines() on another.
class LiveSamples {
 public:
  explicit LiveSamples(std::vector<std::string> metrics) : metrics_(std::move(metrics)) {}

  // Accepts any frame of a sampler's stream; ignores all but samples.
  void take(const wire::Frame& frame);
  // One line per device: the means since the last call.
  std::vector<std::string> lines();

 private:
  struct Sum {
    double value = 0;
    double time = 0;
  };

  const std::vector<std::string> metrics_;
  std::mutex mutex_;                                // guards the next
  std::map<std::uint32_t, std::vector<Sum>> sums_;  // by device, then by index in metrics_
};

}  // namespace gpuprof::app
