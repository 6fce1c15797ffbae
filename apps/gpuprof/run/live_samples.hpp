// What is sampled, as lines of text while it comes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "libprof/wire/frame.hpp"

namespace gpuprof::app {

// Frames come on one thread, lines are asked for on another.
class LiveSamples {
 public:
  explicit LiveSamples(std::vector<std::string> metrics) : metrics_(std::move(metrics)) {}

  // Of a sampler's stream; what else there is is passed over.
  void take(const wire::Frame& frame);
  // A line for each device: the means since the last call.
  std::vector<std::string> lines();

 private:
  struct Sum {
    double value = 0;
    double time = 0;
  };

  const std::vector<std::string> metrics_;
  std::mutex mutex_;                                // guards the next
  std::map<std::uint32_t, std::vector<Sum>> sums_;  // by device, and place in metrics_
};

}  // namespace gpuprof::app
