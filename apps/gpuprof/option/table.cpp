#include "apps/gpuprof/option/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <filesystem>

#include "apps/gpuprof/given_names.hpp"
#include "apps/gpuprof/help/complete.hpp"
#include "apps/gpuprof/option/trace_selection.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/base/text.hpp"
#include "libprof/launch/file_name.hpp"
#include "libprof/metrics/chip_names.hpp"
#include "libprof/metrics/nearest.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {
namespace {

using Set = std::function<std::optional<Refusal>(Options&, const std::string&)>;
using schema::Group;

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

Set text(std::string& (*target)(Options&)) {
  return [=](Options& options, const std::string& value) {
    target(options) = value;
    return std::optional<Refusal>();
  };
}

Set flag(void (*set)(Options&)) {
  return [=](Options& options, const std::string&) {
    set(options);
    return std::optional<Refusal>();
  };
}

Set layout(report::Layout layout) {
  return [=](Options& options, const std::string&) {
    report::Options& reports = options.reports;
    reports.two_layouts |= reports.layout != report::Layout::text && reports.layout != layout;
    reports.layout = layout;
    return std::optional<Refusal>();
  };
}

// For choices: on and off, or one word against the others.
Set equals(std::string_view word, bool& (*target)(Options&)) {
  return [=](Options& options, const std::string& value) {
    target(options) = value == word;
    return std::optional<Refusal>();
  };
}

std::optional<Refusal> set_umask(Options& options, const std::string& value) {
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bits, 8);
  if (error != std::errc() || end != value.data() + value.size() || bits > 0777) {
    return Refusal{.takes = "an octal number from 0 to 777"};
  }
  options.file_mode = (0666 & ~static_cast<mode_t>(bits)) | 0600;
  return {};
}

// The table cannot name a target for numbers that are only checked.
Set number(int least, int most, int& (*target)(Options&) = nullptr) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    const auto number = parse<int>(value);
    if (!number || *number < least || *number > most) {
      std::string range = "a whole number from " + std::to_string(least);
      range += most == INT_MAX ? " on" : " to " + std::to_string(most);
      return Refusal{.takes = range};
    }
    if (target) target(options) = *number;
    return {};
  };
}

// A name with placeholders, those of output files or %i besides.
Set placeholders(std::string& (*target)(Options&), bool with_id) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    try {
      with_id ? object_name(value, 1, getpid()) : launch::expand_name(value, getpid());
    } catch (const Error& error) {
      const std::string what = error.what();
      if (error.exit_code() == ExitCode::internal) {
        throw NvprofError{{"Error: " + what, "Error: internal error."}, ExitCode::internal};
      }
      return Refusal{.before = what.starts_with("invalid syntax") ? "Error: " + what : "",
                     .takes = error.hint()};
    }
    target(options) = value;
    return {};
  };
}

Set file_name(std::string& (*target)(Options&)) { return placeholders(target, false); }

// Turns a group of --trace on or off.
Set group(Group group) {
  return [=](Options& options, const std::string& value) {
    options.groups.emplace_back(group, value != "off");
    return std::optional<Refusal>();
  };
}

// "1.5s", "20ms", "7us", "12ns"; a bare number is seconds. "nvtx:NAME": a range.
Set time(std::optional<std::int64_t>& (*target)(Options&), std::string& (*range)(Options&)) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    constexpr std::string_view nvtx = "nvtx:";
    const bool named = value.starts_with(nvtx) && value.size() > nvtx.size();
    range(options) = named ? value.substr(nvtx.size()) : "";
    target(options).reset();
    if (named) return {};
    const std::size_t digits = std::min(value.find_first_not_of("0123456789."), value.size());
    const auto number = parse<double>(std::string_view(value).substr(0, digits));
    const std::string unit = value.substr(digits);
    const double factor = unit.empty() || unit == "s" ? 1e9
                          : unit == "ms"              ? 1e6
                          : unit == "us"              ? 1e3
                          : unit == "ns"              ? 1
                                                      : 0;
    if (!number || factor == 0 || *number * factor > 9e18) {
      return Refusal{.takes = "a time such as 1.5 or 1.5s, 20ms, 7us, 12ns, or nvtx:NAME"};
    }
    target(options) = std::llround(*number * factor);
    return {};
  };
}

std::optional<Refusal> set_timeout(Options& options, const std::string& value) {
  const auto seconds = parse<double>(value);
  // nvprof says no more than its usual line here.
  if (!seconds || !(*seconds >= 0 && *seconds <= 2'000'000)) return Refusal{};
  options.timeout_ms = static_cast<int>(std::ceil(*seconds * 1000));
  return {};
}

std::optional<Refusal> set_trace(Options& options, const std::string& value) {
  std::vector<std::string> words = options.trace;
  for (std::string& word : split(value, ',')) words.push_back(std::move(word));
  if (const std::string problem = trace_problem(words); !problem.empty()) {
    return Refusal{.takes = problem};
  }
  options.trace = words;
  return {};
}

std::optional<Refusal> set_api_trace(Options& options, const std::string& value) {
  options.api_trace = value == "none"      ? ApiTrace::none
                      : value == "runtime" ? ApiTrace::runtime
                      : value == "driver"  ? ApiTrace::driver
                                           : ApiTrace::all;
  return {};
}

std::optional<Refusal> set_cupti(Options& options, const std::string& value) {
  if (!std::filesystem::exists(value)) return Refusal{.takes = "the path of a libcupti"};
  options.cupti = value;
  return {};
}

std::optional<Refusal> set_unit(Options& options, const std::string& value) {
  using report::Unit;
  options.reports.unit = value == "s"     ? Unit::s
                         : value == "ms"  ? Unit::ms
                         : value == "us"  ? Unit::us
                         : value == "ns"  ? Unit::ns
                         : value == "col" ? Unit::column
                                          : Unit::automatic;
  return {};
}

std::optional<Refusal> set_demangling(Options& options, const std::string& value) {
  using report::NameStyle;
  if (value == "on") options.reports.names.reset();
  if (value == "off") options.reports.names = NameStyle::mangled;
  if (value == "modern") options.reports.names = NameStyle::modern;
  if (value == "nvprof") options.reports.names = NameStyle::nvprof;
  return {};
}

std::optional<Refusal> set_cpu_mode(Options& options, const std::string& value) {
  using report::CpuMode;
  options.reports.cpu.mode = value == "flat"       ? CpuMode::flat
                             : value == "top-down" ? CpuMode::top_down
                                                   : CpuMode::bottom_up;
  return {};
}

// Whether it can be used as one; else why not.
std::optional<Refusal> wrong_expression(const std::string& value) {
  try {
    const Pattern check(value);
  } catch (const Error& error) {
    return Refusal{.takes = std::string("a regular expression: ") + error.what()};
  }
  return {};
}

// At single colons: "::" belongs to a name.
std::vector<std::string> split_path(const std::string& value) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != ':') {
      parts.back() += value[i];
    } else if (parts.size() == 3 && i + 1 < value.size() && value[i + 1] == ':') {
      parts.back() += "::";
      ++i;
    } else {
      parts.emplace_back();
    }
  }
  return parts;
}

// A name, or CONTEXT:STREAM:NAME:INVOCATION, as nvprof takes it.
std::optional<Refusal> set_kernels(Options& options, const std::string& value) {
  std::vector<std::string> parts = split_path(value);
  if (parts.size() != 4) parts = {"", "", value, ""};
  for (const std::string& part : parts) {
    if (const auto wrong = wrong_expression(part)) return wrong;
  }
  MetricRequest& scope = options.metrics.scope;
  scope.contexts = parts[0];
  scope.streams = parts[1];
  scope.kernels = parts[2];
  scope.invocations = parts[3];
  options.reports.filter.kernels = parts[2];
  return {};
}

std::optional<Refusal> set_devices(Options& options, const std::string& value) {
  std::vector<std::int64_t> devices;
  for (const std::string& word : split(value, ',')) {
    if (value == "all") break;
    const auto device = parse<std::uint32_t>(word);
    if (!device) return Refusal{.takes = "all, or numbers of devices with commas between"};
    devices.push_back(*device);
  }
  options.reports.filter.devices = devices;
  options.metrics.scope.devices.assign(devices.begin(), devices.end());
  return {};
}

// Names of metrics or events, with commas between, for the scope that was set last.
Set request(std::vector<std::string> MetricRequest::*names) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    MetricRequest request = options.metrics.scope;
    for (std::string& name : split(value, ',')) {
      if (!name.empty()) (request.*names).push_back(std::move(name));
    }
    options.metrics.requests.push_back(std::move(request));
    return {};
  };
}

std::optional<Refusal> set_replay_mode(Options& options, const std::string& value) {
  options.metrics.replay = value == "kernel"      ? MetricReplay::kernel
                           : value == "multiplex" ? MetricReplay::multiplex
                           : value == "range"     ? MetricReplay::range
                                                  : MetricReplay::application;
  options.metrics.one_run = value == "disabled";
  return {};
}

std::optional<Refusal> set_overhead(Options& options, const std::string& value) {
  const bool percent = value.ends_with('%');
  const auto number = parse<double>(std::string_view(value).substr(0, value.size() - percent));
  if (!number || !(*number > 0 && *number <= 1000)) {
    return Refusal{.takes = "a percentage of the run's time, such as 20%"};
  }
  options.metrics.overhead_permille = std::max(1, static_cast<int>(std::lround(*number * 10)));
  return {};
}

std::optional<Refusal> set_range(Options& options, const std::string& value) {
  constexpr std::string_view nvtx = "nvtx:";
  if (value != "profiler" && !value.starts_with(nvtx)) {
    return Refusal{.takes =
                       "nvtx:NAME (a regular expression), or profiler for what lies between "
                       "cudaProfilerStart and cudaProfilerStop"};
  }
  options.metrics.replay = MetricReplay::range;
  options.metrics.range = value == "profiler" ? "" : value.substr(nvtx.size());
  if (value != "profiler" && options.metrics.range.empty()) options.metrics.range = ".";
  return wrong_expression(options.metrics.range);
}

std::optional<Refusal> set_left_out(Options& options, const std::string& value) {
  options.metrics.left_out = value;
  return wrong_expression(value);
}

std::string trace_help() {
  std::string help = "Groups of records to collect, with commas between";
  for (const schema::GroupInfo& group : schema::groups) {
    if (group.name.empty()) continue;
    help += "\n  " + std::string(group.name);
    help.append(group.name.size() < 16 ? 16 - group.name.size() : 1, ' ');
    help += std::string(group.doc) + (group.by_default ? " (on)" : "");
  }
  return help + "\n+NAME adds to what is on, -NAME takes away; all is everything but graph.";
}

// Groups of --trace; behind a part with '+' or '-', and for one, with that.
std::vector<std::string> trace_words(std::string_view typed) {
  const std::size_t comma = typed.rfind(',');
  const std::string_view part = comma == typed.npos ? typed : typed.substr(comma + 1);
  const bool changes = typed.starts_with('+') || typed.starts_with('-');
  std::vector<std::string> words;
  for (const schema::GroupInfo& group : schema::groups) {
    if (group.name.empty()) continue;
    if (!changes) words.emplace_back(group.name);
    for (const char sign : {'+', '-'}) {
      if (changes && (part.empty() || part[0] == sign))
        words.push_back(sign + std::string(group.name));
    }
  }
  if (!changes) words.emplace_back("all");
  return words;
}

std::vector<std::string> topics(std::string_view) {
  std::vector<std::string> words{"all"};
  for (const OptionGroupInfo& group : option_groups()) words.emplace_back(group.name);
  return words;
}

constexpr char no_sampling_of_counters[] = "counters are read for each kernel, not over time";
constexpr char no_sampling[] = "the CPU is not sampled";

std::vector<Option> make_table() {
  using G = OptionGroup;
  std::vector<Option> table{
      // What to collect
      {.name = "trace",
       .argument = "LIST",
       .group = G::collect,
       .help = trace_help(),
       .common = true,
       .minus_values = true,
       .values = trace_words,
       .set = set_trace},
      {.name = "profile-from-start",
       .argument = "on|off",
       .group = G::collect,
       .help = "off: collect only between cudaProfilerStart and cudaProfilerStop",
       .common = true,
       .set = equals("on", [](Options& o) -> bool& { return o.profile_from_start; })},
      {.name = "timeout",
       .letter = 't',
       .argument = "SECONDS",
       .group = G::collect,
       .help = "End the program with SIGTERM after this time\n"
               "It counts from the moment at which the program starts to use CUDA.",
       .common = true,
       .set = set_timeout},
      {.name = "profile-api-trace",
       .argument = "none|runtime|driver|all",
       .group = G::collect,
       .help = "CUDA calls to record (all)\n"
               "GPU work is joined to calls of the recorded kind only.",
       .set = set_api_trace},
      {.name = "concurrent-kernels",
       .argument = "on|off",
       .group = G::collect,
       .help = "off: run kernels one at a time, those of CUDA graphs excepted\n"
               "Run-time compilation and memory decompression are not recorded then.",
       .set = equals("on", [](Options& o) -> bool& { return o.concurrent_kernels; })},
      {.name = "unified-memory-profiling",
       .argument = "per-process-device|off",
       .group = G::collect,
       .help = "Page migrations and faults of managed memory (on)",
       .set = group(Group::unified_memory)},
      {.name = "track-memory-allocations",
       .argument = "on|off",
       .group = G::collect,
       .help = "Allocations and frees (on)",
       .set = group(Group::memory)},
      {.name = "system-profiling",
       .argument = "on|off",
       .group = G::collect,
       .help = "Clocks, temperature, power and fan (off)",
       .set = group(Group::environment)},
      {.name = "openacc-profiling",
       .argument = "on|off",
       .group = G::collect,
       .help = "OpenACC constructs (off)",
       .set = group(Group::openacc)},
      {.name = "openmp-profiling",
       .argument = "on|off",
       .group = G::collect,
       .help = "OpenMP constructs (off)",
       .set = group(Group::openmp)},
      {.name = "profile-child-processes",
       .group = G::collect,
       .help = "Profile children of the program too; always on"},
      {.name = "profile-all-processes",
       .group = G::collect,
       .help = "Profile whatever the user starts, anywhere",
       .status = Status::replaced,
       .why = "CUDA loads a profiler only into what the profiler starts; start the processes under "
              "gpuprof, such as gpuprof -o run-%p.sqlite sh"},
      {.name = "annotate-mpi",
       .argument = "off|openmpi|mpich",
       .group = G::collect,
       .help = "An NVTX range for each MPI call",
       .status = Status::not_yet,
       .why = "MPI calls have no ranges",
       .harmless = "off"},
      {.name = "cpu-thread-tracing",
       .argument = "on|off",
       .group = G::collect,
       .help = "Calls of the thread library",
       .status = Status::replaced,
       .why = "nothing in CUDA records thread calls any more; perf trace and strace -f show them",
       .harmless = "off"},
      {.name = "kernel-latency-timestamps",
       .argument = "on|off",
       .group = G::collect,
       .help = "When kernels were queued and submitted (off)",
       .set = equals("on", [](Options& o) -> bool& { return o.kernel_latency_timestamps; })},
      {.name = "device-buffer-size",
       .argument = "MB",
       .group = G::collect,
       .help = "Memory for records on the device",
       .status = Status::no_effect,
       .why = "CUPTI sizes its buffers on the device itself",
       .set = number(1, INT_MAX)},
      {.name = "device-cdp-buffer-size",
       .argument = "MB",
       .group = G::collect,
       .help = "Memory for records of kernels that kernels launch",
       .status = Status::no_effect,
       .why = "CUPTI records no kernels launched by kernels any more",
       .set = number(1, INT_MAX)},
      {.name = "profiling-semaphore-pool-size",
       .argument = "N",
       .group = G::collect,
       .help = "Semaphores for serialized kernels",
       .status = Status::no_effect,
       .why = "CUPTI sizes its pools itself",
       .set = number(1, INT_MAX)},
      {.name = "flush-period",
       .argument = "MS",
       .group = G::collect,
       .help = "Milliseconds after which records are written at the latest (500)",
       .ours = true,
       .set = number(1, 60'000, [](Options& o) -> int& { return o.flush_ms; })},
      {.name = "activity-buffers",
       .argument = "N",
       .group = G::collect,
       .help = "Buffers of 1 MiB that CUPTI may fill at a time (256)",
       .ours = true,
       .set = number(4, 65'536, [](Options& o) -> int& { return o.slots; })},
      {.name = "cupti",
       .argument = "PATH",
       .group = G::collect,
       .help = "The libcupti to use, in place of gpuprof's own",
       .ours = true,
       .set = set_cupti},

      // Where it goes
      {.name = "export-profile",
       .letter = 'o',
       .argument = "FILE",
       .group = G::output,
       .help = "Write the profile to this SQLite file\n"
               "The name may hold %p (process id: one file for each process), %h (host), %q{NAME} "
               "(variable) and %% (a percent sign). Reports are then printed only when asked for.",
       .common = true,
       .once = true,
       .alias = "output-profile",
       .set = file_name([](Options& o) -> std::string& { return o.output; })},
      {.name = "force-overwrite",
       .letter = 'f',
       .group = G::output,
       .help = "Replace a profile, a capture or an empty file of that name",
       .common = true,
       .set = flag([](Options& o) { o.overwrite = true; })},
      {.name = "fail-if-empty",
       .group = G::output,
       .help = "End with 24 when nothing was recorded and the program ended with 0\n"
               "For tests: a program that finds no GPU and goes on without is not taken for one "
               "that was profiled.",
       .ours = true,
       .common = true,
       .not_with_import = true,
       .set = flag([](Options& o) { o.fail_if_empty = true; })},
      {.name = "umask",
       .argument = "MODE",
       .group = G::output,
       .help = "Take these bits, octal, from the mode of the files that are made (077)\n"
               "077 leaves them to their owner alone, 022 lets all read them. The shell's umask "
               "does not count. Profiles, captures, logs and parts of profiles are meant; the "
               "owner may always read and write them.",
       .ours = true,
       .set = set_umask},
      {.name = "no-command-line",
       .group = G::output,
       .help = "Do not store command lines, which may hold secrets\n"
               "Neither gpuprof's nor the program's nor those of its processes, in no profile and "
               "no capture. Reports and logs name the program without its arguments.",
       .ours = true,
       .set = flag([](Options& o) { o.store_command_line = false; })},
      {.name = "import-profile",
       .letter = 'i',
       .argument = "FILE",
       .group = G::output,
       .help = "Print reports of this file; nothing is run\n"
               "Files of gpuprof and of nvprof, Version 8 to 18.",
       .common = true,
       .once = true,
       .set = text([](Options& o) -> std::string& { return o.input; })},
      {.name = "log-file",
       .argument = "FILE",
       .group = G::output,
       .help = "Send reports and messages to this file\n"
               "%1 is standard output, %2 standard error. The name may hold %p, %h, %q{NAME} and "
               "%%. An existing file is replaced.",
       .common = true,
       .set =
           [](Options& options, const std::string& value) {
             const auto target = [](Options& o) -> std::string& { return o.log_file; };
             return value == "%1" || value == "%2" ? text(target)(options, value)
                                                   : file_name(target)(options, value);
           }},
      {.name = "quiet",
       .letter = 'q',
       .group = G::output,
       .help = "Print nothing but errors",
       .common = true,
       .set = flag([](Options& o) { o.quiet = true; })},
      {.name = "save-capture",
       .argument = "FILE",
       .group = G::output,
       .help = "Also record the stream itself, for gpuprof replay",
       .ours = true,
       .once = true,
       .set = file_name([](Options& o) -> std::string& { return o.save_capture; })},
      {.name = "no-indexes",
       .group = G::output,
       .help = "Leave out nvprof's indexes: smaller file, slower joins",
       .ours = true,
       .set = flag([](Options& o) { o.indexes = false; })},
      {.name = "process-name",
       .argument = "NAME",
       .group = G::output,
       .help = "A name for processes, in the table NAME\n"
               "The name may hold %p (process id), %h (host), %q{NAME} (variable) and %%.",
       .set = placeholders([](Options& o) -> std::string& { return o.process_name; }, false)},
      {.name = "context-name",
       .argument = "NAME",
       .group = G::output,
       .help = "A name for contexts that the program gives none\n"
               "The name may hold %i (the context's number) and what process names may hold.",
       .set = placeholders([](Options& o) -> std::string& { return o.context_name; }, true)},
      {.name = "stream-name",
       .argument = "NAME",
       .group = G::output,
       .help = "A name for streams that the program gives none\n"
               "The name may hold %i (the stream's number) and what process names may hold.",
       .set = placeholders([](Options& o) -> std::string& { return o.stream_name; }, true)},

      // How reports look
      {.name = "csv",
       .group = G::format,
       .help = "Comma-separated values",
       .common = true,
       .once = true,
       .set = layout(report::Layout::csv)},
      {.name = "json",
       .group = G::format,
       .help = "One JSON document; with -i on standard output",
       .ours = true,
       .common = true,
       .once = true,
       .set = layout(report::Layout::json)},
      {.name = "normalized-time-unit",
       .letter = 'u',
       .argument = "s|ms|us|ns|col|auto",
       .group = G::format,
       .help = "Unit of times; col: one for each column, auto: what fits the value",
       .common = true,
       .set = set_unit},
      {.name = "demangling",
       .argument = "on|off|modern|nvprof",
       .group = G::format,
       .help =
           "C++ names of kernels\n"
           "on: as nvprof writes them in its reports, readable where nvprof leaves them mangled "
           "and the file is gpuprof's own, unambiguous in reports nvprof has not and in JSON; "
           "off: mangled; modern and nvprof: that style everywhere.",
       .common = true,
       .set = set_demangling},
      {.name = "stats",
       .group = G::format,
       .help = "Median, standard deviation and percentiles in summaries",
       .ours = true,
       .common = true,
       .set = flag([](Options& o) { o.reports.statistics = true; })},
      {.name = "top",
       .argument = "N",
       .group = G::format,
       .help = "Only the first N rows of each section of a summary",
       .ours = true,
       .common = true,
       .once = true,
       .set = number(1, INT_MAX, [](Options& o) -> int& { return o.reports.top; })},
      {.name = "openacc-summary-mode",
       .argument = "exclusive|inclusive",
       .group = G::format,
       .help = "OpenACC times without (exclusive) or with nested constructs",
       .set = equals("inclusive", [](Options& o) -> bool& { return o.reports.openacc_inclusive; })},
      {.name = "print-openacc-constructs",
       .group = G::format,
       .help = "Name the parent construct in OpenACC reports",
       .set = flag([](Options& o) { o.reports.openacc_constructs = true; })},

      // Filters
      {.name = "kernels",
       .argument = "REGEX",
       .group = G::filter,
       .help = "Kernels whose name this regular expression is found in\n"
               "Case matters. Copies and sets are left out.",
       .common = true,
       .set = set_kernels},
      {.name = "devices",
       .argument = "LIST",
       .group = G::filter,
       .help = "GPU work of these devices: all, or numbers with commas between",
       .common = true,
       .set = set_devices},
      {.name = "from",
       .argument = "TIME",
       .group = G::filter,
       .help = "Records that begin at this time or later\n"
               "Times count from the run's first record: 1.5 or 1.5s, 20ms, 7us, 12ns. nvtx:NAME "
               "is where the first NVTX range of that name begins, and behind --to where it ends.",
       .ours = true,
       .common = true,
       .set = time([](Options& o) -> std::optional<std::int64_t>& { return o.reports.filter.from; },
                   [](Options& o) -> std::string& { return o.reports.filter.from_range; })},
      {.name = "to",
       .argument = "TIME",
       .group = G::filter,
       .help = "Records that begin before this time",
       .ours = true,
       .common = true,
       .set = time([](Options& o) -> std::optional<std::int64_t>& { return o.reports.filter.to; },
                   [](Options& o) -> std::string& { return o.reports.filter.to_range; })},
      {.name = "nvtx",
       .argument = "NAME",
       .group = G::filter,
       .help = "The same as --from nvtx:NAME --to nvtx:NAME",
       .ours = true,
       .common = true,
       .set =
           [](Options& o, const std::string& value) {
             o.reports.filter.from_range = o.reports.filter.to_range = value;
             o.reports.filter.from.reset();
             o.reports.filter.to.reset();
             return std::optional<Refusal>();
           }},

      // Metrics and events
      {.name = "metrics",
       .letter = 'm',
       .argument = "LIST",
       .group = G::metrics,
       .help =
           "Metrics to collect for each kernel, with commas between\n"
           "Names of nvprof's and of CUPTI's (--query-metrics); all is every metric of nvprof's "
           "that the GPU has. May be given again for other kernels: --devices, --kernels, "
           "--launch-skip and --launch-count hold for the --metrics and --events behind them. "
           "Values are in METRIC_VALUE and in the view kernel_metrics.",
       .common = true,
       .once = true,
       .not_with_import = true,
       .values = metric_names,
       .set = request(&MetricRequest::metrics)},
      {.name = "query-metrics",
       .group = G::metrics,
       .help =
           "List the metrics of a chip\n"
           "nvprof's names, computed from CUPTI's metrics, and these. Needs no GPU with --chip. "
           "With --csv or --json for programs.",
       .common = true,
       .once = true,
       .not_with_import = true,
       .set = flag([](Options& o) {
         o.action = Action::query;
         o.query.metrics = true;
       })},
      {.name = "events",
       .letter = 'e',
       .argument = "LIST",
       .group = G::metrics,
       .help = "nvprof's events to collect, from the metrics that stand for them\n"
               "--query-events lists them.",
       .once = true,
       .not_with_import = true,
       .values = event_names,
       .set = request(&MetricRequest::events)},
      {.name = "query-events",
       .group = G::metrics,
       .help = "List nvprof's events that CUPTI's metrics of a chip can stand for",
       .once = true,
       .not_with_import = true,
       .set = flag([](Options& o) {
         o.action = Action::query;
         o.query.events = true;
       })},
      {.name = "chip",
       .argument = "NAME",
       .group = G::metrics,
       .help = "The chip that --query-metrics lists: GH100, or a product such as H200 or A100, or "
               "sm_90",
       .ours = true,
       .once = true,
       .values = [](std::string_view) { return metrics::chip_names(); },
       .set = text([](Options& o) -> std::string& { return o.query.chip; })},
      {.name = "filter",
       .argument = "TEXT",
       .group = G::metrics,
       .help = "List only names with this text, or in which this regular expression is found\n"
               "With passes that collecting takes; the whole name of a metric shows all of it.",
       .ours = true,
       .once = true,
       .set = text([](Options& o) -> std::string& { return o.query.filter; })},
      {.name = "analysis-metrics",
       .group = G::metrics,
       .help = "What the Visual Profiler analyses",
       .status = Status::replaced,
       .why = "there is no Visual Profiler for today's GPUs; name metrics with --metrics",
       .not_with_import = true},
      {.name = "source-level-analysis",
       .letter = 'a',
       .argument = "LIST",
       .group = G::metrics,
       .help = "Metrics of source lines: global_access, shared_access, branch, "
               "instruction_execution, pc_sampling",
       .status = Status::not_yet,
       .why = "nothing is collected by source line",
       .not_with_import = true},
      {.name = "pc-sampling-period",
       .argument = "5..31",
       .group = G::metrics,
       .help = "Cycles between samples, as a power of two",
       .status = Status::not_yet,
       .why = "program counters are not sampled",
       .set = number(5, 31)},
      {.name = "aggregate-mode",
       .argument = "on|off",
       .group = G::metrics,
       .help = "off: a value for each unit of the device",
       .status = Status::replaced,
       .why = "CUDA has no values of single units any more; metrics have .sum, .avg, .min, .max",
       .harmless = "on"},
      {.name = "event-collection-mode",
       .argument = "kernel|continuous",
       .group = G::metrics,
       .help = "continuous: over the whole run and not for each kernel",
       .status = Status::not_yet,
       .why = no_sampling_of_counters,
       .harmless = "kernel"},
      {.name = "continuous-sampling-interval",
       .argument = "MS",
       .group = G::metrics,
       .help = "Milliseconds between values in continuous mode",
       .status = Status::not_yet,
       .why = no_sampling_of_counters,
       .set = number(1, INT_MAX)},
      {.name = "replay-mode",
       .argument = "application|multiplex|kernel|range|disabled",
       .group = G::metrics,
       .help =
           "How metrics are collected that do not fit into one pass (application)\n"
           "application: the program runs once for each group of metrics; the first run is also "
           "traced. Cheapest, for programs that do the same each time.\n"
           "multiplex: one run, in which groups take turns over windows of launches, within "
           "--metrics-overhead. For long runs of few kernels, such as training.\n"
           "kernel: each kernel runs several times on the same memory. Dear; for programs that "
           "cannot run twice.\n"
           "range: one value for what lies in a range of the program's own, see --range.\n"
           "disabled: one run, and an error when the metrics take more.",
       .set = set_replay_mode},
      {.name = "range",
       .argument = "RANGE",
       .group = G::metrics,
       .help = "Measure ranges as a whole and not kernels: nvtx:NAME or profiler\n"
               "nvtx:NAME: NVTX push/pop ranges in whose name this regular expression is found; "
               "profiler: what lies between cudaProfilerStart and cudaProfilerStop.",
       .ours = true,
       .once = true,
       .values =
           [](std::string_view) {
             return std::vector<std::string>{"nvtx:", "profiler"};
           },
       .set = set_range},
      {.name = "metrics-overhead",
       .argument = "PERCENT",
       .group = G::metrics,
       .help = "Share of the run's time that --replay-mode multiplex may take (20%)",
       .ours = true,
       .set = set_overhead},
      {.name = "metrics-samples",
       .argument = "N",
       .group = G::metrics,
       .help = "Launches of each kernel, grid and block that --replay-mode multiplex measures in "
               "each group, at most (32)\n"
               "Fewer, but at least 8, where each mean is known to 1 %.",
       .ours = true,
       .set = number(1, 1'000'000, [](Options& o) -> int& { return o.metrics.samples; })},
      {.name = "metrics-plan",
       .group = G::metrics,
       .help = "Show which metrics are collected together, in how many passes, and what a kernel "
               "costs\nWithout an application nothing is run; with --chip no GPU is needed.",
       .ours = true,
       .once = true,
       .not_with_import = true,
       .set = flag([](Options& o) { o.metrics.plan = true; })},
      {.name = "require-metrics",
       .group = G::metrics,
       .help = "Do not run the program when metrics cannot be collected (else it runs without)",
       .ours = true,
       .set = flag([](Options& o) { o.metrics.required = true; })},
      {.name = "launch-skip",
       .argument = "N",
       .group = G::metrics,
       .help = "Launches to pass over before the first that is measured",
       .ours = true,
       .once = true,
       .set = [](Options& o, const std::string& value) -> std::optional<Refusal> {
         const auto skip = parse<std::uint32_t>(value);
         if (!skip) return Refusal{.takes = "a number"};
         o.metrics.scope.skip = *skip;
         return {};
       }},
      {.name = "launch-count",
       .argument = "N",
       .group = G::metrics,
       .help = "Launches to measure (0: all)",
       .ours = true,
       .once = true,
       .set = [](Options& o, const std::string& value) -> std::optional<Refusal> {
         const auto count = parse<std::uint32_t>(value);
         if (!count) return Refusal{.takes = "a number"};
         o.metrics.scope.count = *count;
         return {};
       }},
      {.name = "metrics-exclude",
       .argument = "REGEX",
       .group = G::metrics,
       .help = "Kernels never to be measured, because they wait for others\n"
               "Under --replay-mode kernel cooperative and NCCL kernels are left out anyway.",
       .ours = true,
       .set = set_left_out},
      {.name = "cache-control",
       .argument = "all|none",
       .group = G::metrics,
       .help = "all: empty the L2 cache before each pass of --replay-mode kernel (CUPTI 13.4 and "
               "newer)",
       .ours = true,
       .set = equals("all", [](Options& o) -> bool& { return o.metrics.reset_caches; })},
      {.name = "metrics-batch",
       .argument = "N",
       .group = G::metrics,
       .help = "Launches between two readings of the counters (256, more in long runs)\n"
               "Larger is cheaper per launch and dearer to start: 0.6 ms per launch of the batch.",
       .ours = true,
       .set = number(1, 65'536, [](Options& o) -> int& { return o.metrics.batch; })},
      {.name = "hang-timeout",
       .argument = "SECONDS",
       .group = G::metrics,
       .help = "A measured kernel that takes longer is taken for hanging, and measuring ends (10)",
       .ours = true,
       .set = number(1, 86'400, [](Options& o) -> int& { return o.metrics.hang_seconds; })},
      {.name = "keep-counter-data",
       .group = G::metrics,
       .help = "With --save-capture: also keep the counter data that values come from",
       .ours = true,
       .set = flag([](Options& o) { o.metrics.keep_counter_data = true; })},
      {.name = "skip-kernel-replay-save-restore",
       .argument = "on|off",
       .group = G::metrics,
       .help = "on: kernels run again on the memory they left",
       .status = Status::replaced,
       .why = "--replay-mode application never runs a kernel twice",
       .harmless = "off"},

      // CPU sampling
      {.name = "cpu-profiling",
       .argument = "on|off",
       .group = G::cpu,
       .help = "Sample the CPU while the program runs",
       .status = Status::not_yet,
       .why = no_sampling,
       .harmless = "off"},
      {.name = "cpu-profiling-mode",
       .argument = "flat|top-down|bottom-up",
       .group = G::cpu,
       .help = "How the report shows calls (bottom-up)",
       .set = set_cpu_mode},
      {.name = "cpu-profiling-max-depth",
       .argument = "N",
       .group = G::cpu,
       .help = "Calls of a stack that the report shows (0: all)",
       .set = number(0, INT_MAX, [](Options& o) -> int& { return o.reports.cpu.max_depth; })},
      {.name = "cpu-profiling-percentage-threshold",
       .argument = "0..100",
       .group = G::cpu,
       .help = "Leave out what has less than this percentage",
       .set =
           [](Options& options, const std::string& value) {
             auto refused = number(0, 100)(options, value);
             if (!refused) options.reports.cpu.threshold = std::stoi(value);
             return refused;
           }},
      {.name = "cpu-profiling-scope",
       .argument = "function|instruction",
       .group = G::cpu,
       .help = "What counts as one place (function)",
       .set =
           equals("instruction", [](Options& o) -> bool& { return o.reports.cpu.by_instruction; })},
      {.name = "cpu-profiling-show-library",
       .argument = "on|off",
       .group = G::cpu,
       .help = "Name the library of each place (off)",
       .set = equals("on", [](Options& o) -> bool& { return o.reports.cpu.show_library; })},
      {.name = "cpu-profiling-thread-mode",
       .argument = "separated|aggregated",
       .group = G::cpu,
       .help = "A report for each thread, or one (aggregated)",
       .set = equals("separated", [](Options& o) -> bool& { return o.reports.cpu.by_thread; })},
      {.name = "cpu-profiling-show-ccff",
       .argument = "on|off",
       .group = G::cpu,
       .help = "Messages of the compiler in the report; implies scope instruction (off)",
       .set = equals("on", [](Options& o) -> bool& { return o.reports.cpu.show_ccff; })},
      {.name = "cpu-profiling-explain-ccff",
       .argument = "FILE",
       .group = G::cpu,
       .help = "The PGI compilers' file of explanations",
       .status = Status::no_effect,
       .why = "there are no PGI compilers any more"},
      {.name = "cpu-profiling-frequency",
       .argument = "HZ",
       .group = G::cpu,
       .help = "Samples per second (100)\nWith -i only printed.",
       .status = Status::not_yet,
       .why = no_sampling,
       .set = number(1, 500, [](Options& o) -> int& { return o.reports.cpu.frequency; })},
      {.name = "cpu-profiling-unwind-stack",
       .argument = "on|off",
       .group = G::cpu,
       .help = "Record the stack with each sample (on)",
       .status = Status::not_yet,
       .why = no_sampling},

      // About gpuprof
      {.name = "config",
       .argument = "FILE",
       .group = G::program,
       .help = "Take defaults from this file\n"
               "Else from $XDG_CONFIG_HOME/gpuprof/config.toml or ~/.config/gpuprof/config.toml: "
               "lines such as trace = \"+queries\" or quiet = true, with the options of \"What to "
               "collect\" and others that say how and not what. The environment goes before the "
               "file (GPUPROF_TRACE=+queries), and what is on the command line before both.",
       .ours = true,
       .set = text([](Options& o) -> std::string& { return o.config.file; })},
      {.name = "no-config",
       .group = G::program,
       .help = "Take no defaults from a file or from the environment",
       .ours = true,
       .set = flag([](Options& o) { o.config.none = true; })},
      {.name = "help",
       .letter = 'h',
       .argument = "[TOPIC]",
       .group = G::program,
       .help = "This help; of a group, of options that match a word, or all",
       .common = true,
       .values = topics},
      {.name = "version",
       .letter = 'V',
       .group = G::program,
       .help = "Print the version",
       .common = true,
       .set = flag([](Options& o) { o.action = Action::version; })},
  };
  for (const report::Report* entry : report::reports()) {
    if (entry->option.empty()) continue;
    const std::string name(entry->option);
    table.push_back({.name = name,
                     .letter = name == "print-summary" ? 's' : '\0',
                     .group = G::reports,
                     .help = std::string(entry->help),
                     .ours = entry->ours,
                     .common = true,
                     .set = [name](Options& options, const std::string&) {
                       options.reports.chosen.insert(name);
                       return std::optional<Refusal>();
                     }});
  }
  std::ranges::stable_sort(table, {}, &Option::group);
  return table;
}

}  // namespace

std::span<const OptionGroupInfo> option_groups() {
  static constexpr std::array groups{
      OptionGroupInfo{OptionGroup::collect, "collect", "What to collect"},
      OptionGroupInfo{OptionGroup::output, "output", "Where it goes"},
      OptionGroupInfo{OptionGroup::reports, "reports", "Reports"},
      OptionGroupInfo{OptionGroup::format, "format", "How reports look"},
      OptionGroupInfo{OptionGroup::filter, "filter", "What reports look at"},
      OptionGroupInfo{OptionGroup::metrics, "metrics", "Metrics and events"},
      OptionGroupInfo{OptionGroup::cpu, "cpu", "CPU samples"},
      OptionGroupInfo{OptionGroup::program, "program", "About gpuprof"},
  };
  return groups;
}

std::span<const Option> option_table() {
  static const std::vector<Option> table = make_table();
  return table;
}

const Option* find_option(std::string_view name) {
  for (const Option& option : option_table()) {
    if (option.name == name || (!option.alias.empty() && option.alias == name)) return &option;
  }
  return nullptr;
}

const Option* find_option(char letter) {
  const auto found = std::ranges::find(option_table(), letter, &Option::letter);
  return found == option_table().end() ? nullptr : &*found;
}

std::string closest_option(std::string_view name) {
  std::string close;
  // More changes than half of a short name make it another.
  std::size_t least = std::min<std::size_t>(3, (name.size() + 1) / 2);
  for (const Option& option : option_table()) {
    const std::size_t far = metrics::edit_distance(name, option.name);
    if (far < least) close = option.name;
    least = std::min(least, far);
  }
  return close;
}

std::vector<std::string> choices(const Option& option) {
  if (option.argument.find('|') == option.argument.npos) return {};
  return split(option.argument, '|');
}

std::string remark(const Option& option) {
  const char* status = option.status == Status::not_yet     ? "not yet in this version: "
                       : option.status == Status::no_effect ? "no effect: "
                                                            : "";
  return status + option.why;
}

std::optional<Refusal> apply(const Option& option, const std::string& value, Options& options) {
  const auto allowed = choices(option);
  if (!allowed.empty() && std::ranges::find(allowed, value) == allowed.end()) {
    return Refusal{.takes = alternatives(allowed)};
  }
  if (option.set) {
    if (auto refused = option.set(options, value)) return refused;
  }
  if (option.status != Status::works && (value.empty() || value != option.harmless)) {
    options.without_effect.push_back(&option);
  }
  return {};
}

std::string wrong_combination(const report::Options& reports) {
  bool summary = false, trace = false, with_top = false;
  for (const report::Report* report : report::reports()) {
    if (!reports.chosen.contains(std::string(report->option))) continue;
    const bool of_sums = report->option.find("summary") != report->option.npos;
    summary |= of_sums && !report->ours;
    with_top |= of_sums;
    trace |= report->phase == report::Phase::trace;
  }
  if (reports.two_layouts) return "Use either --csv or --json.";
  if (reports.top > 0 && trace && !with_top) {
    return "--top is for summaries; a trace has all rows.";
  }
  if (reports.filter.from && reports.filter.to && *reports.filter.from >= *reports.filter.to) {
    return "--from is not before --to.";
  }
  if (summary && trace) {
    return "Use either the print summary options or the print trace options.";
  }
  if (reports.chosen.contains("print-dependency-analysis-trace") &&
      !reports.chosen.contains("dependency-analysis")) {
    return "Showing dependency analysis trace requires dependency analysis to be enabled.";
  }
  return {};
}

}  // namespace gpuprof::app
