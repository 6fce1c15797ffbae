// The command line as values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/metrics/request.hpp"
#include "libprof/record/trace_selection.hpp"
#include "libprof/report/options.hpp"

namespace gpuprof::app {

struct Option;  // table.hpp
struct Preset;  // presets.hpp

enum class Action { run, import, help, version, query };

// What --query-metrics and --query-events list.
struct Query {
  bool metrics = false;
  bool events = false;
  bool samples = false;  // of metrics those that can be sampled over time
  std::string chip;      // empty: those of this machine
  std::string filter;    // empty: all
};

using MetricRequest = metrics::Request;
using MetricReplay = metrics::Replay;

struct MetricOptions : metrics::Options {
  MetricRequest scope;    // for the next request
  bool plan = false;      // show the plan; without an application nothing else
  bool required = false;  // no run without metrics
};

// Counters of whole GPUs over time.
struct PmOptions {
  bool on = false;
  std::vector<std::string> metrics{"default"};
  std::uint64_t interval_ns = 200'000;
  std::uint64_t interval_cycles = 0;  // of the system clock, where interval_ns is 0
  std::uint64_t buffer_bytes = std::uint64_t{256} << 20;  // on each GPU
  bool keep_latest = false;                               // when that is full
};

struct PcSamplingOptions {
  bool on = false;
  int period = 0;       // a power of two, of cycles; 0: CUPTI's own
  std::string reasons;  // with commas between; empty: all
  bool serialize = false;
  int buffer_mb = 0;  // 0: CUPTI's own
};

// What is counted by instruction.
struct SassOptions {
  std::vector<std::string> metrics;     // CUPTI's names; empty: nothing
  std::vector<MetricRequest> launches;  // counted by themselves; empty: all are, together
};

// Where defaults come from.
struct ConfigChoice {
  std::string file;   // empty: the usual one
  bool none = false;  // nor the environment
};

struct Options {
  Action action = Action::run;
  std::string command_line;  // our own, quoted for a shell

  // run
  std::vector<std::string> application;  // program and arguments
  record::TraceOptions trace;
  bool profile_from_start = true;
  bool kernel_latency_timestamps = false;
  int timeout_ms = 0;  // 0: none
  int flush_ms = 500;
  std::string cupti;                                    // path of a libcupti; empty: the usual ones
  std::string save_capture;                             // empty: none
  bool store_command_line = true;                       // and those of the processes
  int slots = 0;                                        // 0: the collector's default
  std::string process_name, context_name, stream_name;  // with placeholders; empty: none
  std::vector<const Option*> without_effect;  // options given that do nothing, or nothing yet

  // run and replay
  std::string output;  // empty: a temporary file, and the summary
  bool overwrite = false;
  std::string step;  // which NVTX ranges are steps; empty: those that are called so
  bool fail_if_empty = false;
  bool view = false;        // in a browser, meanwhile and afterwards
  mode_t file_mode = 0600;  // of the files that are made
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
  std::string log_file;  // "%1", "%2" or a name with placeholders; empty: as usual
  report::Options reports;
};

// An error told in nvprof's words: lines for stderr, without "======== ".
struct NvprofError {
  std::vector<std::string> lines;
  ExitCode exit_code;
};

// Why what is asked for of the GPU cannot be had in one run, as a sentence. Empty: it can.
// `pm_sampling`: the option that asked for PM sampling.
std::string why_not_in_one_run(const Options& options,
                               std::string_view pm_sampling = "--pm-sampling");

// The words behind "gpuprof", with nvprof's grammar: options first, the first other word is the
// application, what follows is its own. Throws NvprofError. `presets` are asked for once it is
// known that they are wanted, and set what the words do not.
Options parse_options(const std::vector<std::string>& words,
                      const std::function<std::vector<Preset>(const ConfigChoice&)>& presets = {});

}  // namespace gpuprof::app
