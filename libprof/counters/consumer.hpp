// PM sampling for programs that want samples in their own process. A device has one session per
// process, shared by all its consumers: it counts the metrics of all that have started.
//
// While a session is started, CUPTI locks the GPU's clocks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"

namespace gpuprof::counters {

struct ConsumerSettings {
  std::vector<std::string> metrics;  // CUPTI's full names
  std::string set;                   // a single-pass set that contains them; may be empty
  std::uint64_t interval = 0;        // ns, or cycles of the system clock
  bool by_time = true;
  std::uint64_t buffer_bytes = 0;
  bool keep_latest = false;

  // The settings that concurrent consumers must share.
  bool agrees_with(const ConsumerSettings& other) const {
    return set == other.set && interval == other.interval && by_time == other.by_time &&
           keep_latest == other.keep_latest;
  }
};

// The same moment on CUPTI's clock, in time since the Unix epoch, and on CLOCK_MONOTONIC; ns.
struct Clocks {
  std::int64_t cupti = 0, unix = 0, monotonic = 0;
};

// Samples of one image.
struct SampleWindow {
  std::shared_ptr<const cupti::Image> image;
  std::vector<std::int64_t> places;  // in the image
};

// Samples in chronological order.
struct TakenSamples {
  std::vector<std::uint64_t> starts, stops;  // ns on CUPTI's clock
  std::vector<SampleWindow> windows;         // of samples that are not evaluated
  std::vector<double> values;                // of evaluated samples: all metrics of each
  bool evaluated = false;
  std::size_t populated = 0;  // including incomplete ones, and the first since the start
  Clocks clocks;
};

struct ConsumerState {
  std::string chip;
  std::size_t consumers = 0;    // of this device in this process
  std::uint64_t samples = 0;    // passed to this one
  std::uint64_t lost = 0;       // incomplete, or dropped from a full ring
  std::uint64_t overflows = 0;  // of the GPU's buffer
  std::string problem;          // why background decoding ended
};

// Any thread. Functions throw gpuprof::Error; refusals by CUPTI and calls that are invalid in the
// current state throw cupti::Refused.
class Consumer {
 public:
  virtual ~Consumer() = default;  // stops, and leaves the session to the others

  // Not while started. If the metrics do not fit into one pass, throws with sets that do.
  virtual void configure(const ConsumerSettings& settings) = 0;
  // `ring`: a thread decodes and evaluates, and keeps this many of the latest samples; 0: take()
  // decodes.
  virtual void start(std::size_t ring) = 0;
  virtual void stop() = 0;
  // With a ring: waits until it contains a sample or none will come, at most `patience`.
  virtual void wait(std::chrono::milliseconds patience) = 0;
  // At most this many samples. Without a ring: decodes what is available.
  virtual TakenSamples take(std::size_t most) = 0;
  // The size in bytes of a counter data image with room for this many samples.
  virtual std::size_t image_bytes(const std::vector<std::string>& metrics,
                                  std::uint32_t samples) = 0;
  virtual ConsumerState state() = 0;
};

// Takes the device's counters, or shares them with existing consumers. `cupti`: candidates, of
// which the first usable one stays loaded for all later consumers.
std::unique_ptr<Consumer> open_consumer(int device, const std::vector<std::string>& cupti);

// The chip of a device by CUPTI's name, and what it can count, which is empty if CUPTI does not
// say.
struct DeviceChip {
  std::string chip;
  cupti::Image available;
  std::string cupti;  // the path of the libcupti that was used
};
DeviceChip chip_of_device(int device, const std::vector<std::string>& cupti);

}  // namespace gpuprof::counters
