// Payloads about metrics: what the collector measured, and what was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/wire/codec.hpp"
#include "schema/measured.hpp"

namespace gpuprof::wire {

using schema::MeasuredRange;
using schema::RangeKind;

// The group of a list of launches that is no measurement.
inline constexpr std::uint32_t launch_list = 0xffffffff;

// The note of a range whose passes were not all of the same launch.
inline constexpr std::string_view other_launch = "another run launched another kernel here";

// A counter data image that CUPTI has decoded, and what its ranges are, in its order.
struct CounterData {
  std::uint32_t group{};           // GroupInfo::id, or launch_list
  std::uint32_t context{};         // CUPTI's id
  std::uint32_t context_number{};  // the same in each run: device << 16 | its contexts before
  std::uint32_t device{};
  std::uint64_t dropped{};  // ranges CUPTI had no room for
  std::vector<MeasuredRange> ranges;
  std::vector<std::string> names;
  std::vector<std::string> notes;
  std::span<const std::byte> image;  // empty: it was lost, `notes` says why
};

void encode(Encoder& encoder, const CounterData& data);
// `image` is a view into the payload.
std::optional<CounterData> decode_counter_data(std::span<const std::byte> payload);

// A metric of the run. Numbered from 1 by its place.
struct MetricInfo {
  std::string name;
  std::string unit;
  std::string description;
  std::string formula;         // over CUPTI's metrics
  std::uint32_t nvprof_id{};   // of nvprof's METRIC rows; 0: nvprof has none of this name
  std::uint8_t nvprof_kind{};  // schema::MetricKind: how nvprof stores it
  bool is_event{};
};

// What is collected together.
struct GroupInfo {
  std::uint32_t id{};
  std::string chip;
  std::string mode;        // application, multiplex, kernel, range
  std::string scope;       // which kernels, in words; empty: all
  std::string cost_class;  // where its counters sit
  std::uint32_t passes{};
  double expected_us{};  // what a kernel costs in it, all passes
  std::vector<std::uint32_t> metrics;
  std::vector<std::string> counters;
};

struct MetricsInfo {
  std::vector<MetricInfo> metrics;
  std::vector<GroupInfo> groups;
};

void encode(Encoder& encoder, const MetricsInfo& info);
std::optional<MetricsInfo> decode_metrics(std::span<const std::byte> payload);

// How the collector is to measure; travels as the field `metrics` of its configuration.
enum class ReplayMode : std::uint8_t { application = 0, multiplex = 1, kernel = 2, range = 3 };

// Numbers of contexts, streams and invocations are asked for by the block: one bit for each, the
// lowest one first.
inline constexpr std::uint32_t numbers_per_block = 4096;
inline constexpr std::uint32_t last_number_block = 0xffffffff / numbers_per_block;

enum class NvtxRanges : std::uint8_t { none = 0, all = 1, some = 2 };

// Where only some are meant, the collector asks which (FORMAT.md, Questions).
struct CollectScope {
  std::vector<std::uint32_t> devices;  // empty: all
  bool contexts{};                     // only some, by their numbers
  bool streams{};
  bool invocations{};
  std::uint64_t skip{};   // launches of the scope to pass over first
  std::uint64_t count{};  // launches to measure after these; 0: all
};

struct CollectGroup {
  std::uint32_t id{};
  std::string chip;
  std::uint32_t scope{};   // counts `scopes` from 0
  std::uint32_t pass{};    // which pass of `passes` this run collects, from 0
  std::uint32_t passes{};  // as CUPTI counts them for the configuration
  double launch_us{};      // what a launch costs in it
  double switch_us{};      // what it costs to stop and to start again
  bool patched{};          // counts by code patched into kernels, but not into those of graphs
  std::vector<std::string> counters;
  std::vector<std::uint8_t> config_image;
};

struct CollectConfig {
  ReplayMode mode{};
  std::uint32_t batch{};              // ranges per counter data image
  bool grows{};                       // the batch may grow in a long run
  std::uint32_t hang_ms{};            // a launch or a call of CUPTI's that takes longer hangs
  std::uint32_t overhead_permille{};  // multiplex only
  std::uint32_t samples{};            // multiplex only: per kernel shape and group
  bool list_launches{};               // also send all launches, for later runs to be joined with
  bool reset_caches{};                // before each pass of kernel replay
  bool trace_serially{};              // kernels, one at a time: that stays out of the counters
  std::string images;                 // folder for images between passes; empty: there is one pass
  bool names_matter{};                // which kernels are measured goes by their names
  NvtxRanges ranges{};                // range mode; none: from cudaProfilerStart to Stop
  std::vector<CollectScope> scopes;
  std::vector<CollectGroup> groups;
};

void encode(Encoder& encoder, const CollectConfig& config);
// The same as a field of a configuration.
std::string packed(const CollectConfig& config);
std::optional<CollectConfig> decode_collect_config(std::span<const std::byte> payload);

}  // namespace gpuprof::wire
