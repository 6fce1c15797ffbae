// SASS metrics as a collector tells of them: what is counted in a context, and the values that were
// read of it since the last time. Each has one encode and one decode, side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libprof/wire/code_functions.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

struct SassMetric {
  std::string name;
  std::string description;
};

struct SassMetrics {
  std::uint32_t context{};
  std::uint32_t device{};
  std::vector<SassMetric> metrics;
};

struct SassValue {
  std::uint32_t metric{};  // counts SassMetrics::metrics of the context from 1
  std::uint64_t value{};
};

// An instruction.
struct SassPlace {
  std::uint32_t function{};  // counts `functions` from 1
  std::uint64_t offset{};    // bytes from the beginning of the function
  std::uint32_t first{};     // of `values`
  std::uint32_t count{};     // how many of them
};

struct SassValues {
  std::uint32_t context{};
  std::uint32_t correlation{};  // CUPTI's id of the launch; 0: of all launches together
  std::vector<CodeFunction> functions;
  std::vector<SassPlace> places;
  std::vector<SassValue> values;
};

void encode(Encoder& encoder, const SassMetrics& metrics);
std::optional<SassMetrics> decode_sass_metrics(std::span<const std::byte> payload);

void encode(Encoder& encoder, const SassValues& values);
// Nothing: it is malformed; places lead into the lists they are of.
std::optional<SassValues> decode_sass_values(std::span<const std::byte> payload);

}  // namespace gpuprof::wire
