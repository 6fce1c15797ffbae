// Payloads about metrics: what the collector measured, and what was requested.
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

// The group number of a list of launches that is not a measurement.
inline constexpr std::uint32_t launch_list = 0xffffffff;

// The note of a range whose passes did not all see the same launch.
inline constexpr std::string_view other_launch = "another run launched another kernel here";

// What a green context has of its device, in CUPTI's own form.
struct Partition {
  std::uint32_t context{};  // CUPTI's id
  std::vector<std::uint8_t> info;
};

// A counter data image that CUPTI has decoded, and a description of its ranges, in the image's
// order.
struct CounterData {
  std::uint32_t group{};           // GroupInfo::id, or launch_list
  std::uint32_t context{};         // CUPTI's id
  std::uint32_t context_number{};  // the same in each run: device << 16 | contexts before
  std::uint32_t device{};
  std::uint64_t dropped{};  // ranges for which CUPTI had no room
  std::vector<MeasuredRange> ranges;
  std::vector<std::string> names;
  std::vector<std::string> notes;
  std::span<const std::byte> image;  // empty: it was lost, and `notes` says why
  std::vector<Partition> partitions;
  // By range: the partition it ran on, an index into `partitions` from 1; 0: the whole device.
  // Empty: all of them ran on that.
  std::vector<std::uint32_t> ran_on;
};

void encode(Encoder& encoder, const CounterData& data);
// `image` is a view into the payload.
std::optional<CounterData> decode_counter_data(std::span<const std::byte> payload);

// A metric of the run, numbered from 1 by position.
struct MetricInfo {
  std::string name;
  std::string unit;
  std::string description;
  std::string formula;         // in terms of CUPTI's metrics
  std::uint32_t nvprof_id{};   // in nvprof's METRIC rows; 0: nvprof has no metric of this name
  std::uint8_t nvprof_kind{};  // schema::MetricKind: how nvprof stores it
  bool is_event{};
};

// Metrics and counters that are collected together.
struct GroupInfo {
  std::uint32_t id{};
  std::string chip;
  std::string mode;        // application, multiplex, kernel, range
  std::string scope;       // which kernels, in words; empty: all
  std::string cost_class;  // where its counters are located
  std::uint32_t passes{};
  double expected_us{};  // what it costs a kernel, all passes
  std::vector<std::uint32_t> metrics;
  std::vector<std::string> counters;
};

struct MetricsInfo {
  std::vector<MetricInfo> metrics;
  std::vector<GroupInfo> groups;
};

void encode(Encoder& encoder, const MetricsInfo& info);
std::optional<MetricsInfo> decode_metrics(std::span<const std::byte> payload);

// Which threads' calls have the functions of Python that they came from: none's, all threads', or
// those of threads that can read them without a system call. Travels as the field `launch_stacks`
// of the collector's configuration.
enum class LaunchStacks : std::uint8_t { none = 0, all = 1, cheap = 2 };

// How the collector measures; travels as the field `metrics` of its configuration.
enum class ReplayMode : std::uint8_t { application = 0, multiplex = 1, kernel = 2, range = 3 };

// Numbers of contexts, streams and invocations are queried in blocks: one bit per number, the
// lowest first.
inline constexpr std::uint32_t numbers_per_block = 4096;
inline constexpr std::uint32_t last_number_block = 0xffffffff / numbers_per_block;

enum class NvtxRanges : std::uint8_t { none = 0, all = 1, some = 2 };

// For those that are restricted to some, the collector asks which (FORMAT.md, Questions).
struct CollectScope {
  std::vector<std::uint32_t> devices;  // empty: all
  bool contexts{};                     // only some, by number
  bool streams{};
  bool invocations{};
  std::uint64_t skip{};   // launches of the scope to skip first
  std::uint64_t count{};  // launches to measure after those; 0: all
};

struct CollectGroup {
  std::uint32_t id{};
  std::string chip;
  std::uint32_t scope{};   // index into `scopes`, from 0
  std::uint32_t pass{};    // the pass that this run collects, from 0
  std::uint32_t passes{};  // according to CUPTI for the configuration
  double launch_us{};      // cost of a launch measured in it
  double switch_us{};      // cost of stopping and starting again
  bool patched{};          // counts with code patched into kernels, except those in graphs
  std::vector<std::string> counters;
  std::vector<std::uint8_t> config_image;
};

struct CollectConfig {
  ReplayMode mode{};
  std::uint32_t batch{};              // ranges per counter data image
  bool grows{};                       // the batch may grow in a long run
  std::uint32_t hang_ms{};            // a launch or CUPTI call that takes longer is considered hung
  std::uint32_t overhead_permille{};  // multiplex only
  std::uint32_t samples{};            // multiplex only: per kernel shape and group
  bool list_launches{};               // also send all launches, so that later runs can be joined
  bool reset_caches{};                // before each pass of kernel replay
  bool trace_serially{};              // kernels one at a time: keeps tracing out of the counters
  std::string images;                 // folder for images between passes; empty: only one pass
  bool names_matter{};                // the selection of kernels depends on their names
  NvtxRanges ranges{};                // range mode; none: from cudaProfilerStart to Stop
  std::vector<CollectScope> scopes;
  std::vector<CollectGroup> groups;
};

void encode(Encoder& encoder, const CollectConfig& config);
// The same as the value of a configuration field.
std::string packed(const CollectConfig& config);
std::optional<CollectConfig> decode_collect_config(std::span<const std::byte> payload);

}  // namespace gpuprof::wire
