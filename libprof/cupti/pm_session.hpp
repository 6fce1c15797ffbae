// CUPTI's PM sampling of one device: a buffer on the GPU fills with samples, and is decoded into
// counter data images.
//
// Single-threaded. A refusal by CUPTI is thrown as Refused, with an explanation; the session
// may be retried with other metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libprof/cupti/driver.hpp"
#include "libprof/cupti/host.hpp"

namespace gpuprof::cupti {

// When a sample was taken, in ns on CUPTI's clock.
struct SampleTime {
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
};

struct PmSettings {
  std::uint64_t interval_ns = 0;      // 0: interval_cycles applies
  std::uint64_t interval_cycles = 0;  // of the system clock
  std::uint64_t buffer_bytes = 0;
  bool keep_latest = false;
};

class PmSession {
 public:
  // The result of decoding.
  struct Decoded {
    std::size_t samples = 0;  // complete ones in the image
    std::size_t torn = 0;     // incomplete ones in the image
    bool image_full = false;  // more may be available at once
    // The GPU's buffer was full, or CUPTI no longer returns anything from it. Its content is lost,
    // and nothing more comes from this session.
    bool overflow = false;
  };

  // Takes the device's counters; they are unavailable to others until the session is gone.
  PmSession(const Driver& driver, int device);
  ~PmSession();
  PmSession(const PmSession&) = delete;
  PmSession& operator=(const PmSession&) = delete;

  // Only once: after a second configuration CUPTI returns samples without times, or crashes (13.5).
  void configure(Image config, const PmSettings& settings);
  bool configured() const { return !config_.empty(); }
  void start();
  void stop();

  // The size in bytes of an image with room for this many samples of these counters.
  std::size_t image_bytes(const std::vector<std::string>& counters, std::uint32_t samples) const;
  // Makes an empty image. Call after image_bytes() for it.
  void clear(std::vector<std::uint8_t>& image) const;
  Decoded decode(std::vector<std::uint8_t>& image);
  SampleTime time_of(const std::vector<std::uint8_t>& image, std::size_t sample) const;

 private:
  const Api& api_;
  CUpti_PmSampling_Object* object_ = nullptr;
  Image config_;  // CUPTI may access it whenever it decodes
  bool started_ = false;
  int given_nothing_ = 0;  // how often in a row an image was full but empty
};

// What a device can count, in the form CUPTI's host library expects. Empty: CUPTI does not say, for
// example while others use the counters. Call before creating a session.
Image available_counters(const Driver& driver, int device);

// Whether GPUs of a chip can sample at time intervals: some support only cycles.
bool samples_by_time(const std::string& chip);

}  // namespace gpuprof::cupti
