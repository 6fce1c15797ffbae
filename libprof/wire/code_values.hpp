// What a collector counts of a context's instructions: PC samples by stall reason, and SASS
// metrics. Frames of both have the same form: the counters of a context, then the values read since
// the last such frame, by place in the code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

enum class CodeKind { pc_samples, sass_metrics };

// A stall reason, or a metric.
struct CodeCounter {
  std::uint32_t index{};    // CUPTI's for the device; of metrics, the position from 1
  std::string name;         // CUPTI's
  std::string description;  // of a metric
};

struct CodeCounters {
  CodeKind kind{};
  std::uint32_t context{};
  std::uint32_t device{};
  std::uint64_t period{};  // PC samples: cycles between them; 0: unknown
  bool serialized{};  // PC samples: kernels run one at a time, and samples have correlation ids
  std::vector<CodeCounter> counters = {};
};

// A device function. Each is listed once in a frame, and places refer to it by its index from 1.
struct CodeFunction {
  std::uint64_t cubin{};  // MODULE.cubinCrc
  std::string name;       // mangled
};

struct CodeValue {
  std::uint32_t counter{};  // CodeCounter::index
  std::uint64_t value{};
};

// The values of one instruction.
struct CodePlace {
  std::uint32_t function{};     // index into `functions`, from 1
  std::uint32_t correlation{};  // CUPTI's id of the launch; 0: of no single one
  std::uint64_t offset{};       // bytes from the start of the function
  std::vector<CodeValue> values = {};
};

struct CodeValues {
  CodeKind kind{};
  std::uint32_t context{};
  // Only with PC samples.
  std::uint32_t device{};
  std::uint64_t total{};    // all that the hardware took, including `dropped` and `others`
  std::uint64_t dropped{};  // not written by the hardware
  std::uint64_t others{};   // of kernels that are not the program's
  bool overflow{};          // the device's buffer was full, and its content is lost
  // Only with SASS metrics: that of all places.
  std::uint32_t correlation{};

  std::vector<CodeFunction> functions = {};
  std::vector<CodePlace> places = {};
};

// Fills the places and functions of a frame.
class PlaceList {
 public:
  explicit PlaceList(CodeValues& to) : to_(to) {}
  // A place without values is left out. `function`: its name, which must outlive this object, or
  // null; sets place.function.
  void add(std::uint64_t cubin, const char* function, CodePlace place);

 private:
  CodeValues& to_;
  std::map<std::pair<std::uint64_t, std::string_view>, std::uint32_t> functions_;
};

void encode(Encoder& encoder, const CodeCounters& counters);
void encode(Encoder& encoder, const CodeValues& values);
// nullopt: malformed. The places' functions are within their list.
std::optional<CodeCounters> decode_code_counters(CodeKind kind, std::span<const std::byte> payload);
std::optional<CodeValues> decode_code_values(CodeKind kind, std::span<const std::byte> payload);

}  // namespace gpuprof::wire
