// CUPTI's PM sampling of one device: a buffer on the GPU fills with samples, and is decoded into
// counter data images.
//
// One thread. What CUPTI refuses is thrown as cupti::Refused, with what that means; the session may
// be tried again with other metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libprof/cupti/driver.hpp"
#include "libprof/cupti/host.hpp"

namespace gpuprof::sample {

// When a sample was taken, ns on CUPTI's clock.
struct SampleTime {
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
};

struct PmSettings {
  std::uint64_t interval_ns = 0;      // 0: interval_cycles counts
  std::uint64_t interval_cycles = 0;  // of the system clock
  std::uint64_t buffer_bytes = 0;
  bool keep_latest = false;
};

class PmSession {
 public:
  // What decoding gave.
  struct Decoded {
    std::size_t samples = 0;  // that are in the image, and whole
    std::size_t torn = 0;     // that are in the image, and are not
    bool image_full = false;  // there may be more at once
    // The GPU's buffer was full, or CUPTI gives nothing out of it any more. What was in it is lost,
    // and nothing more comes of this session.
    bool overflow = false;
  };

  // Takes the device's counters; nobody else can have them until the session is gone.
  PmSession(const cupti::Driver& driver, int device);
  ~PmSession();
  PmSession(const PmSession&) = delete;
  PmSession& operator=(const PmSession&) = delete;

  // Once: of another configuration CUPTI gives samples without times, or crashes (13.5).
  void configure(cupti::Image config, const PmSettings& settings);
  bool configured() const { return !config_.empty(); }
  void start();
  void stop();

  // Bytes of an image with room for so many samples of these counters.
  std::size_t image_bytes(const std::vector<std::string>& counters, std::uint32_t samples) const;
  // Makes an image that is empty. After image_bytes() for it.
  void clear(std::vector<std::uint8_t>& image) const;
  Decoded decode(std::vector<std::uint8_t>& image);
  SampleTime time_of(const std::vector<std::uint8_t>& image, std::size_t sample) const;

 private:
  const cupti::Api& api_;
  CUpti_PmSampling_Object* object_ = nullptr;
  cupti::Image config_;  // CUPTI may look into it whenever it decodes
  bool started_ = false;
  int given_nothing_ = 0;  // times in a row that an image was full with nothing in it
};

// What a device can count, as CUPTI's host library wants to know it. Empty: CUPTI does not tell, as
// while others use the counters. Before a session is made.
cupti::Image available_counters(const cupti::Driver& driver, int device);

// What the driver's GPUs of a chip cannot do: some count time in cycles only.
bool samples_by_time(const std::string& chip);

}  // namespace gpuprof::sample
