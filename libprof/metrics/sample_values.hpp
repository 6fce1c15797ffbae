// Values of many samples of a counter data image at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"

namespace gpuprof::metrics {

// Held by those who read values, and alone by who ends a session of CUPTI's: its library for values
// crashed when the session of an image ended meanwhile.
std::shared_mutex& reading_values();

// Of one chip, and of images of one device: of another's CUPTI gives no values. One thread at a
// time.
class SampleValues {
 public:
  SampleValues(std::shared_ptr<const cupti::HostLibrary> library, std::string chip,
               cupti::Counting counting, cupti::Image available = {}, std::string set = {});

  // Of each of `samples` (places in the image) all of `metrics`, one sample behind the other; NaN
  // where there is no value. Several threads where there are many. Throws gpuprof::Error where
  // CUPTI refuses the image, a place or a name.
  void evaluate(std::span<const std::uint8_t> image, std::span<const std::int64_t> samples,
                std::span<const std::string> metrics, double* values);

  const cupti::HostChip& chip() const { return *chips_.front(); }

 private:
  const std::shared_ptr<const cupti::HostLibrary> library_;
  const cupti::Counting counting_;
  const cupti::Image available_;
  const std::string set_;
  std::vector<std::unique_ptr<cupti::HostChip>> chips_;  // one for each thread, made when needed
};

}  // namespace gpuprof::metrics
