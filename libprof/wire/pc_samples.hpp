// PC samples as a collector sends them: how a context is sampled, and the samples read since the
// last such frame. Each has one encode and one decode, side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libprof/wire/code_functions.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

// A reason why a warp stalled, with CUPTI's number and name. Numbers are per device.
struct StallReason {
  std::uint32_t index{};
  std::string name;
};

struct PcSampling {
  std::uint32_t context{};
  std::uint32_t device{};
  std::uint64_t period{};  // cycles between samples; 0: unknown
  bool serialized{};       // kernels run one at a time, and samples have correlation ids
  std::vector<StallReason> reasons;
};

struct PcCount {
  std::uint32_t reason{};  // StallReason::index
  std::uint32_t samples{};
};

// The samples of one instruction.
struct PcPlace {
  std::uint32_t function{};     // index into `functions`, from 1
  std::uint32_t correlation{};  // CUPTI's id; 0: not of a single launch
  std::uint64_t offset{};       // bytes from the start of the function
  std::uint32_t first{};        // index into `counts`
  std::uint32_t counts{};       // number of them
};

struct PcSamples {
  std::uint32_t context{};
  std::uint32_t device{};
  std::uint64_t total{};    // all that the hardware took, including `dropped` and `others`
  std::uint64_t dropped{};  // not written by the hardware
  std::uint64_t others{};   // of kernels that are not the program's
  bool overflow{};          // the device's buffer was full, and its content is lost
  std::vector<CodeFunction> functions;
  std::vector<PcPlace> places;
  std::vector<PcCount> counts;
};

void encode(Encoder& encoder, const PcSampling& sampling);
std::optional<PcSampling> decode_pc_sampling(std::span<const std::byte> payload);

void encode(Encoder& encoder, const PcSamples& samples);
// nullopt: malformed. The places' indices are within their lists.
std::optional<PcSamples> decode_pc_samples(std::span<const std::byte> payload);

}  // namespace gpuprof::wire
