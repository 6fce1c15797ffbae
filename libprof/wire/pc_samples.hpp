// PC samples as a collector tells of them: how a context is sampled, and what was read of it since
// the last time. Each has one encode and one decode, side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libprof/wire/code_functions.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

// A reason for which a warp did not go on, by CUPTI's number and name. The numbers are the
// device's.
struct StallReason {
  std::uint32_t index{};
  std::string name;
};

struct PcSampling {
  std::uint32_t context{};
  std::uint32_t device{};
  std::uint64_t period{};  // cycles between samples; 0: not known
  bool serialized{};       // kernels run one at a time, and samples have correlation ids
  std::vector<StallReason> reasons;
};

struct PcCount {
  std::uint32_t reason{};  // StallReason::index
  std::uint32_t samples{};
};

// The samples of an instruction.
struct PcPlace {
  std::uint32_t function{};     // counts `functions` from 1
  std::uint32_t correlation{};  // CUPTI's id; 0: of no single launch
  std::uint64_t offset{};       // bytes from the beginning of the function
  std::uint32_t first{};        // of `counts`
  std::uint32_t counts{};       // how many of them
};

struct PcSamples {
  std::uint32_t context{};
  std::uint32_t device{};
  std::uint64_t total{};    // all that the hardware took, dropped ones and those of others included
  std::uint64_t dropped{};  // the hardware could not write
  std::uint64_t others{};   // of kernels that are not the program's
  bool overflow{};          // the device's buffer was full, and what was in it is lost
  std::vector<CodeFunction> functions;
  std::vector<PcPlace> places;
  std::vector<PcCount> counts;
};

void encode(Encoder& encoder, const PcSampling& sampling);
std::optional<PcSampling> decode_pc_sampling(std::span<const std::byte> payload);

void encode(Encoder& encoder, const PcSamples& samples);
// Nothing: it is malformed; places lead into the lists they are of.
std::optional<PcSamples> decode_pc_samples(std::span<const std::byte> payload);

}  // namespace gpuprof::wire
