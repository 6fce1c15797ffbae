// The parsed command line.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/metrics/request.hpp"
#include "libprof/record/trace_selection.hpp"
#include "libprof/record/trigger.hpp"
#include "libprof/report/options.hpp"
#include "libprof/report/stalled_work.hpp"

namespace gpuprof::app {

struct Option;  // option_table.hpp
struct Preset;  // presets.hpp

enum class Action { run, import, help, version, query };

// The contents of --query-metrics and --query-events.
struct Query {
  bool metrics = false;
  bool events = false;
  bool samples = false;  // only metrics that can be sampled over time
  std::string chip;      // empty: the chips of this machine
  std::string filter;    // empty: all
};

using MetricRequest = metrics::Request;
using MetricReplay = metrics::Replay;

struct MetricOptions : metrics::PlanOptions {
  MetricRequest scope;    // applies to the next request
  bool plan = false;      // show the plan; without an application, do nothing else
  bool required = false;  // do not run without metrics
};

// Counters of whole GPUs over time.
struct PmOptions {
  bool on = false;
  std::vector<std::string> metrics{"default"};
  std::uint64_t interval_ns = 200'000;
  std::uint64_t interval_cycles = 0;  // of the system clock, if interval_ns is 0
  std::uint64_t buffer_bytes = std::uint64_t{256} << 20;  // per GPU
  bool keep_latest = false;                               // if the buffer is full
};

struct PcSamplingOptions {
  bool on = false;
  std::string asked_by = "--pc-sampling";
  int period = 0;       // in cycles, a power of two; 0: CUPTI's default
  std::string reasons;  // comma-separated; empty: all
  bool serialize = false;
  int buffer_mb = 0;  // 0: CUPTI's default
};

// What is counted per instruction.
struct SassOptions {
  std::vector<std::string> metrics;     // CUPTI's names; empty: none
  std::vector<MetricRequest> launches;  // counted individually; empty: all launches, together
};

// The source of defaults.
struct ConfigChoice {
  std::string file;   // empty: the usual one
  bool none = false;  // ignore the file and the environment
};

// CUPTI's buffers in the GPU's memory; 0: CUPTI's own defaults.
struct DeviceBuffers {
  int megabytes = 0;
  int most = 0;
};

// Times from the GPU's hardware event system.
struct HwTraceOptions {
  std::string mode;   // "on" or "auto"; empty: off
  int buffer_mb = 0;  // 0: CUPTI's own size
};

// The part of the run that is recorded, by what the program does (collect/capture_range.hpp).
struct CaptureOptions {
  std::string what;      // nvtx, step, every or launch; empty: all is recorded
  std::string from, to;  // names of ranges
  std::int64_t first = 1, last = 1;
};

constexpr std::string_view no_trigger_group = "off";

struct Options {
  Action action = Action::run;
  std::string command_line;  // gpuprof's own, quoted for a shell

  // run
  std::vector<std::string> application;  // program and arguments
  record::TraceOptions trace;
  bool profile_from_start = true;
  bool kernel_latency_timestamps = false;
  // The part of the run that is recorded; absent: all.
  std::optional<std::chrono::milliseconds> delay, duration;
  std::optional<std::chrono::milliseconds> activate_every;  // see record::ControlOptions
  CaptureOptions capture;
  std::uint64_t max_bytes = 0;  // of the file: nothing more is recorded then; 0: no limit
  // What a ring keeps: the latest records; with neither, all.
  std::optional<std::chrono::milliseconds> keep_time;
  std::uint64_t keep_bytes = 0;
  std::vector<record::Trigger> triggers;
  int most_snapshots = 20;  // that triggers write
  // Whose triggers have snapshots of all: a job's name, or no_trigger_group; empty: as the
  // environment says.
  std::string trigger_group;
  bool is_rank = true;  // the variables of a job are also those of the program
  std::string ranks;    // of which everything is recorded; empty: all
  std::chrono::milliseconds roll_up_every{120'000};
  bool rolls_up = false;                  // this rank is another: only its roll-ups stay
  int timeout_ms = 0;                     // 0: none
  int flush_ms = 0;                       // 0: what the collector takes on its own
  int budget = 0;                         // share of the program's time, 1/10000; 0: no limit
  int host_samples = 0;                   // a second; 0: none
  std::vector<std::string> nvtx_domains;  // to record; empty: all
  std::vector<std::string> nvtx_domains_left_out;
  std::string cupti;               // path of a libcupti; empty: the usual ones
  std::string save_capture;        // empty: none
  bool store_command_line = true;  // gpuprof's and those of the processes
  int slots = 0;                   // 0: the collector's default
  DeviceBuffers device_buffers;
  HwTraceOptions hw_trace;
  bool share = true;                                    // CUPTI, with other clients in the program
  std::string process_name, context_name, stream_name;  // with placeholders; empty: none
  std::vector<const Option*> without_effect;  // options given that have no effect, or none yet

  // run and replay
  std::string output;  // empty: a temporary file, and print the summary
  bool overwrite = false;
  std::string step;  // which NVTX ranges are steps; empty: those named like steps
  bool fail_if_empty = false;
  std::int64_t hang_after = report::StalledWork::usual_time;  // ns; 0: never
  bool view = false;        // show the run in a browser, during and after it
  mode_t file_mode = 0600;  // of created files
  bool indexes = true;

  // import
  std::string input;

  ConfigChoice config;

  Query query;
  MetricOptions metrics;
  PmOptions pm;
  PcSamplingOptions pc_sampling;
  SassOptions sass;

  // help
  std::string topic;  // empty: the short help

  bool quiet = false;
  std::string log_file;  // "%1", "%2" or a name with placeholders; empty: the default
  report::ReportOptions reports;
};

// An error in nvprof's format: lines for stderr, without "======== ".
struct NvprofError {
  std::vector<std::string> lines;
  ExitCode exit_code;
};

// Why the requested GPU features cannot be combined in one run, as a sentence; empty if they can.
// `pm_sampling` is the name of the option that requested PM sampling.
std::string why_not_in_one_run(const Options& options,
                               std::string_view pm_sampling = "--pm-sampling");

// Whether only the latest records are kept.
inline bool keeps_last(const Options& options) {
  return options.keep_time || options.keep_bytes > 0;
}

// Why not only the latest records can be kept, as a sentence; empty if they can, or are not wanted.
std::string why_not_kept(const Options& options);

// The same for beginning by the wall clock.
std::string why_not_activated(const Options& options);

// Why recording cannot begin and end in the middle of a run, without a full stop; empty if it can.
std::string why_not_switched(const Options& options);

// Why --trigger cannot work with the other options, as a sentence; empty if it can.
std::string why_no_triggers(const Options& options);

// Parses the words after "gpuprof" with nvprof's grammar: options come first, the first other word
// is the application, and the rest are its arguments. Throws NvprofError. `presets` is called only
// if they are needed; they set what the words do not.
Options parse_options(const std::vector<std::string>& words,
                      const std::function<std::vector<Preset>(const ConfigChoice&)>& presets = {});

}  // namespace gpuprof::app
