// Values of many samples of a counter data image at once.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "libprof/cupti/host.hpp"

namespace gpuprof::metrics {

// Held shared while reading values, and exclusively while ending a CUPTI session: CUPTI's
// evaluation library crashed when the session of an image ended meanwhile.
std::shared_mutex& reading_values();

// For one chip, and images of one device: for another device's images CUPTI returns no values. One
// thread at a time.
class SampleValues {
 public:
  SampleValues(std::shared_ptr<const cupti::HostLibrary> library, std::string chip,
               cupti::Counting counting, cupti::Image available = {}, std::string set = {});

  // Evaluates all of `metrics` for each of `samples` (indices in the image), one sample after the
  // other; NaN for missing values. Uses several threads if there are many. Throws gpuprof::Error if
  // CUPTI refuses the image, an index or a name.
  void evaluate(std::span<const std::uint8_t> image, std::span<const std::int64_t> samples,
                std::span<const std::string> metrics, double* values);

  const cupti::HostChip& chip() const { return *chips_.front(); }

 private:
  const std::shared_ptr<const cupti::HostLibrary> library_;
  const cupti::Counting counting_;
  const cupti::Image available_;
  const std::string set_;
  std::vector<std::unique_ptr<cupti::HostChip>> chips_;  // one per thread, created when needed
};

}  // namespace gpuprof::metrics
