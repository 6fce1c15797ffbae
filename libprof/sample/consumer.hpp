// PM sampling for programs that want samples in their own process. A device has one session in a
// process, which all its consumers share: it counts the metrics of all that have started.
//
// While a session is started the GPU's clocks are locked by CUPTI.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"

namespace gpuprof::sample {

struct ConsumerSettings {
  std::vector<std::string> metrics;  // CUPTI's full names
  std::string set;                   // a single-pass set that they are of; may be empty
  std::uint64_t interval = 0;        // ns, or cycles of the system clock
  bool by_time = true;
  std::uint64_t buffer_bytes = 0;
  bool keep_latest = false;

  // What consumers that run at the same time have to agree on.
  bool agrees_with(const ConsumerSettings& other) const {
    return set == other.set && interval == other.interval && by_time == other.by_time &&
           keep_latest == other.keep_latest;
  }
};

// The same moment on CUPTI's clock, as time_t counts, and on CLOCK_MONOTONIC; ns.
struct Clocks {
  std::int64_t cupti = 0, unix = 0, monotonic = 0;
};

// Samples of one image.
struct SampleWindow {
  std::shared_ptr<const cupti::Image> image;
  std::vector<std::int64_t> places;  // in it
};

// Samples in the order of time.
struct TakenSamples {
  std::vector<std::uint64_t> starts, stops;  // ns on CUPTI's clock
  std::vector<SampleWindow> windows;         // of those that are not evaluated
  std::vector<double> values;                // of those that are: all metrics of each
  bool evaluated = false;
  std::size_t populated = 0;  // with those that are not whole, and the first since the start
  Clocks clocks;
};

struct ConsumerState {
  std::string chip;
  std::size_t consumers = 0;    // of this device in this process
  std::uint64_t samples = 0;    // given to this one
  std::uint64_t lost = 0;       // not whole, or dropped from a full ring
  std::uint64_t overflows = 0;  // of the GPU's buffer
  std::string problem;          // why decoding in the background ended
};

// Any thread. Functions throw gpuprof::Error; what CUPTI refuses, and what makes no sense in this
// state, is a cupti::Refused.
class Consumer {
 public:
  virtual ~Consumer() = default;  // stops, and leaves the session to the others

  // Not while it is started. Throws with sets that do where the metrics do not fit into one pass.
  virtual void configure(const ConsumerSettings& settings) = 0;
  // `ring`: a thread decodes and evaluates, and keeps the last so many samples; 0: take() decodes.
  virtual void start(std::size_t ring) = 0;
  virtual void stop() = 0;
  // With a ring: until there is a sample in it or none will come, at most so long.
  virtual void wait(std::chrono::milliseconds patience) = 0;
  // At most so many samples. Without a ring: decodes what there is.
  virtual TakenSamples take(std::size_t most) = 0;
  // Bytes of a counter data image with room for so many samples.
  virtual std::size_t image_bytes(const std::vector<std::string>& metrics,
                                  std::uint32_t samples) = 0;
  virtual ConsumerState state() = 0;
};

// Takes the device's counters, or shares them with the consumers there are. `cupti`: candidates, of
// which the first that can be used stays loaded for all that come.
std::unique_ptr<Consumer> open_consumer(int device, const std::vector<std::string>& cupti);

// The chip of a device as CUPTI calls it, and what it can count, which is empty where CUPTI does
// not tell.
struct DeviceChip {
  std::string chip;
  cupti::Image available;
  std::string cupti;  // the path of the libcupti that said so
};
DeviceChip chip_of_device(int device, const std::vector<std::string>& cupti);

}  // namespace gpuprof::sample
