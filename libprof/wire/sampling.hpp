// What gpuprof-sampler is told, as fields of the config that answers its hello.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

// PM sampling: counters of whole devices, over time.
struct PmConfig {
  std::vector<std::string> metrics;  // numbered from 1 by their place
  // How many of the last of these are left out, one after the other, until a device takes the rest.
  std::uint32_t optional = 0;
  std::uint64_t interval_ns = 0;      // a sample each so many; 0: see interval_cycles
  std::uint64_t interval_cycles = 0;  // of the system clock; 0: see interval_ns
  std::uint64_t buffer_bytes = 0;     // of the GPU's buffer
  bool keep_latest = false;           // when that is full; else the oldest samples
  std::vector<std::string> cupti;     // libcuptis to try, in order
};

void encode(Fields& fields, const PmConfig& config);
// Numbers that make no sense are as they were sent: whoever uses them says so.
PmConfig decode_pm_config(const Fields& fields);

// Fields of an info frame: the devices that are sampled from now on, or 0. Nothing will change
// about that by itself.
inline constexpr std::string_view sampling_field = "sampling";
// A field of a config: nothing is left to be sampled.
inline constexpr std::string_view stop_field = "stop";

}  // namespace gpuprof::wire
