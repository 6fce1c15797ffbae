// The settings of gpuprof-sampler, as fields of the config that answers its hello.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

// PM sampling: counters of whole devices over time.
struct PmConfig {
  std::vector<std::string> metrics;  // numbered from 1 by position
  // How many metrics at the end of the list may be dropped, one by one, until a device accepts the
  // rest.
  std::uint32_t optional = 0;
  std::uint64_t interval_ns = 0;      // between samples; 0: see interval_cycles
  std::uint64_t interval_cycles = 0;  // of the system clock; 0: see interval_ns
  std::uint64_t buffer_bytes = 0;     // of the GPU's buffer
  bool keep_latest = false;           // when the buffer is full; else the oldest samples
  std::vector<std::string> cupti;     // paths of libcupti to try, in order
};

void encode(Fields& fields, const PmConfig& config);
// Implausible numbers are returned as sent: their user rejects them.
PmConfig decode_pm_config(const Fields& fields);

// A field of an info frame: the number of devices sampled from now on, which may be 0. It does not
// change by itself.
inline constexpr std::string_view sampling_field = "sampling";
// A field of a config: nothing is left to sample.
inline constexpr std::string_view stop_field = "stop";

}  // namespace gpuprof::wire
