// What the probe answered before: it takes a second.
//
// Only that all is well is kept, so that what was mended shows at once. If reading counters fails
// later nevertheless, the caller forgets it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/record/launch/device_probe.hpp"
#include "libprof/record/launch/kept_answer.hpp"

namespace gpuprof::launch {

// As KeptAnswer: nothing here throws. Any thread.
class KnownDevices {
 public:
  explicit KnownDevices(const std::vector<std::string>& cuptis) : kept_("devices", cuptis) {}
  explicit KnownDevices(KeptAnswer kept) : kept_(std::move(kept)) {}

  // nullopt: not known, or the file is not sound.
  std::optional<std::vector<ProbedDevice>> read() const;
  // Does nothing if a device has a problem.
  void keep(const std::vector<ProbedDevice>& devices) const;
  void forget() const { kept_.forget(); }

 private:
  KeptAnswer kept_;
};

}  // namespace gpuprof::launch
