// SASS metrics as a collector sends them: what is counted in a context, and the values read since
// the last such frame. Each has one encode and one decode, side by side.
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
  std::uint32_t metric{};  // index into the context's SassMetrics::metrics, from 1
  std::uint64_t value{};
};

// One instruction.
struct SassPlace {
  std::uint32_t function{};  // index into `functions`, from 1
  std::uint64_t offset{};    // bytes from the start of the function
  std::uint32_t first{};     // index into `values`
  std::uint32_t count{};     // number of them
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
// nullopt: malformed. The places' indices are within their lists.
std::optional<SassValues> decode_sass_values(std::span<const std::byte> payload);

}  // namespace gpuprof::wire
