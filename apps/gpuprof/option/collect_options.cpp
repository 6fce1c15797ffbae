// Options for what is collected.
#include <algorithm>
#include <climits>
#include <cmath>
#include <filesystem>

#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/text.hpp"
#include "libprof/record/rank_choice.hpp"
#include "libprof/record/trigger.hpp"
#include "libprof/wire/job.hpp"

namespace gpuprof::app {
namespace {

using schema::Group;

// Turns a group of --trace on or off.
Set group(Group group) {
  return [=](Options& options, const std::string& value) {
    options.trace.groups.emplace_back(group, value != "off");
    return std::optional<Refusal>();
  };
}

std::optional<Refusal> set_timeout(Options& options, const std::string& value) {
  const auto seconds = parse<double>(value);
  // nvprof prints only its usual line here.
  if (!seconds || !(*seconds >= 0 && *seconds <= 2'000'000)) return Refusal{};
  options.timeout_ms = static_cast<int>(std::ceil(*seconds * 1000));
  return {};
}

std::optional<Refusal> set_activate(Options& options, const std::string& value) {
  constexpr std::string_view every = "every:";
  const auto time = value.starts_with(every) ? time_of(value.substr(every.size())) : std::nullopt;
  if (!time || *time < std::chrono::seconds(1)) {
    return Refusal{.takes = "every: and a time from 1s on, such as every:10s"};
  }
  options.activate_every = time;
  return {};
}

std::optional<Refusal> set_keep_last(Options& options, const std::string& value) {
  constexpr std::uint64_t least = 10'000'000;  // some batches of a collector
  const auto time = value.ends_with('B') ? std::nullopt : time_of(value);
  const auto bytes = value.ends_with('B') ? size_of(value) : std::nullopt;
  if (!time && bytes.value_or(0) < least) {
    return Refusal{.takes = "a time such as 60s, or a size from 10MB on"};
  }
  options.keep_time = time;
  options.keep_bytes = bytes.value_or(0);
  return {};
}

std::optional<Refusal> set_trigger_group(Options& options, const std::string& value) {
  if (value.empty() || value.size() > wire::max_job_value) {
    return Refusal{.takes = "a name of up to 256 bytes, or off"};
  }
  options.trigger_group = value;
  return std::nullopt;
}

std::optional<Refusal> add_trigger(Options& options, const std::string& value) {
  const auto trigger = record::Trigger::parsed(value);
  if (!trigger) return Refusal{.takes = record::Trigger::syntax};
  options.triggers.push_back(*trigger);
  return {};
}

// "100-110", "100" or, open to the end, "100-".
bool set_numbers(CaptureOptions& capture, const std::string& value) {
  const std::size_t dash = value.find('-');
  const auto first = parse<std::int64_t>(value.substr(0, dash));
  const std::string rest = dash == value.npos ? value : value.substr(dash + 1);
  const auto last = rest.empty() ? std::optional(INT64_MAX) : parse<std::int64_t>(rest);
  if (!first || !last || *first < 1 || *last < *first) return false;
  capture.first = *first;
  capture.last = *last;
  return true;
}

std::optional<Refusal> set_capture_range(Options& options, const std::string& value) {
  CaptureOptions capture;
  const std::size_t colon = value.find(':');
  capture.what = value.substr(0, colon);
  const std::string rest = colon == value.npos ? "" : value.substr(colon + 1);
  bool known = false;
  if (capture.what == "nvtx") {
    const std::size_t dots = rest.find("..");
    capture.from = rest.substr(0, dots);
    if (dots != rest.npos) capture.to = rest.substr(dots + 2);
    known = !capture.from.empty() && (dots == rest.npos || !capture.to.empty());
  } else if (capture.what == "step" || capture.what == "launch") {
    known = set_numbers(capture, rest);
  } else if (capture.what == "every") {
    known = rest.find('-') == rest.npos && set_numbers(capture, rest);
  }
  if (!known) {
    return Refusal{.takes = "nvtx:NAME, nvtx:NAME..NAME, step:100-110, every:1000, launch:1-50"};
  }
  options.capture = capture;
  return {};
}

std::optional<Refusal> set_ranks(Options& options, const std::string& value) {
  if (!record::RankChoice::parsed(value)) {
    return Refusal{.takes = "numbers and ranges FIRST:END:STEP, with commas between: 0,::64"};
  }
  options.ranks = value;
  return {};
}

std::optional<Refusal> set_roll_up_every(Options& options, const std::string& value) {
  const auto time = time_of(value);
  if (!time || time->count() == 0) return Refusal{.takes = a_time};
  options.roll_up_every = *time;
  return {};
}

std::optional<Refusal> set_max_size(Options& options, const std::string& value) {
  const auto bytes = size_of(value);
  if (!bytes) return Refusal{.takes = a_size};
  options.max_bytes = *bytes;
  return {};
}

std::optional<Refusal> set_budget(Options& options, const std::string& value) {
  const auto percent =
      parse<double>(value.ends_with('%') ? value.substr(0, value.size() - 1) : value);
  if (!percent || !(*percent >= 0.01 && *percent <= 100)) {
    return Refusal{.takes = "a share of the time from 0.01% to 100%"};
  }
  options.budget = static_cast<int>(std::lround(*percent * 100));
  return {};
}

std::optional<Refusal> set_trace(Options& options, const std::string& value) {
  std::vector<std::string> words = options.trace.words;
  for (std::string& word : split(value, ',')) words.push_back(std::move(word));
  if (const std::string problem = record::trace_problem(words); !problem.empty()) {
    const auto wrong = std::ranges::find_if_not(words, record::is_trace_word);
    const bool is_all = wrong == words.end() || *wrong == value;
    return Refusal{.takes = problem, .part = is_all ? "" : *wrong};
  }
  options.trace.words = words;
  return {};
}

std::optional<Refusal> set_api_trace(Options& options, const std::string& value) {
  using record::ApiTrace;
  options.trace.api = value == "none"      ? ApiTrace::none
                      : value == "runtime" ? ApiTrace::runtime
                      : value == "driver"  ? ApiTrace::driver
                                           : ApiTrace::all;
  return {};
}

std::optional<Refusal> set_stacks(Options& options, const std::string& value) {
  using wire::LaunchStacks;
  if (value.empty()) {
    options.trace.memory = options.trace.stacks = true;
  } else if (value == "launches" || value == "off") {
    options.trace.launch_stacks = value == "off" ? LaunchStacks::none : LaunchStacks::all;
  } else {
    return Refusal{.takes = "launches, off or nothing"};
  }
  return {};
}

std::optional<Refusal> set_host_samples(Options& options, const std::string& value) {
  constexpr int usual = 200, most = 1000;
  const auto rate = value.empty() ? std::optional(usual) : parse<int>(value);
  if (!rate || *rate < 1 || *rate > most) return Refusal{.takes = "1 to 1000 times a second"};
  options.host_samples = *rate;
  return {};
}

std::optional<Refusal> choose_hw_trace(Options& options, const std::string& value) {
  options.hw_trace.mode = value == "off" ? "" : value;
  return {};
}

std::optional<Refusal> set_cupti(Options& options, const std::string& value) {
  if (!std::filesystem::exists(value)) return Refusal{.takes = "the path of a libcupti"};
  options.cupti = value;
  return {};
}

// Adds names of NVTX domains.
Set domains(std::vector<std::string>& (*list)(Options&)) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    for (std::string& name : split(value, ',')) {
      if (name.empty()) return Refusal{.takes = "names of domains, with commas between"};
      list(options).push_back(std::move(name));
    }
    return {};
  };
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

// Groups of --trace; after '+' or '-', and for the word itself, with that sign.
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

}  // namespace

std::vector<Option> collect_options() {
  return {
      {.name = "trace",
       .argument = "LIST",
       .help = trace_help(),
       .is = common | minus_values,
       .values = trace_words,
       .set = set_trace},
      {.name = "nvtx-domain-include",
       .argument = "NAMES",
       .help = "NVTX domains to record, with commas between; default is the one without a name "
               "(all)",
       .is = ours,
       .set = domains([](Options& o) -> std::vector<std::string>& { return o.nvtx_domains; })},
      {.name = "nvtx-domain-exclude",
       .argument = "NAMES",
       .help = "NVTX domains not to record",
       .is = ours,
       .set = domains(
           [](Options& o) -> std::vector<std::string>& { return o.nvtx_domains_left_out; })},
      {.name = "profile-from-start",
       .argument = "on|off",
       .help = "off: collect from cudaProfilerStart to cudaProfilerStop only",
       .is = common,
       .set = equals("on", [](Options& o) -> bool& { return o.profile_from_start; })},
      {.name = "delay",
       .argument = "TIME",
       .help = "Record nothing before this time after the program's start: 10s, 500ms, 5min",
       .is = ours,
       .set = time([](Options & o) -> auto& { return o.delay; })},
      {.name = "duration",
       .argument = "TIME",
       .help = "Record for this long, from the start or --delay on; the program runs on",
       .is = ours,
       .set = time([](Options & o) -> auto& { return o.duration; })},
      {.name = "activate",
       .argument = "every:TIME",
       .help = "Begin when the wall clock shows a multiple of this time, every:10s say: gpuprof "
               "does so at the same moment for all ranks, also on other hosts\n"
               "With --duration it records for that long, each time.",
       .is = ours,
       .set = set_activate},
      {.name = "capture-range",
       .argument = "PART",
       .help = "Record a part of the program alone: nvtx:NAME while that range is open, "
               "nvtx:NAME..NAME from the beginning of one to the end of the other, step:100-110 "
               "(ranges named like steps), every:1000 one step of a thousand, launch:1-50\n"
               "Ranges of push and pop count. The program runs on.",
       .is = ours,
       .set = set_capture_range},
      {.name = "keep-last",
       .argument = "AMOUNT",
       .help = "Keep only the latest records, of 60s or 2GB say: for programs that run for weeks\n"
               "gpuprof snapshot and SIGUSR2 to gpuprof copy them into a file of their own.",
       .is = ours,
       .set = set_keep_last},
      {.name = "trigger",
       .argument = "WHAT",
       .help =
           "With --keep-last: write a snapshot when a step or range is long (step>50ms, step>3x "
           "its median, range:NAME>3x), no GPU work ends for 30 s (idle, idle:10s), a call finds "
           "no memory (oom), or a question has a row (sql:SELECT ...); may be given several times\n"
           "A process that crashes or is killed is one anyway (docs/control.md).",
       .is = ours,
       .set = add_trigger},
      {.name = "trigger-group",
       .argument = "NAME",
       .help =
           "With --keep-last: a --trigger of one gpuprof writes snapshots of the same time of all "
           "of this name on this host (the job that Slurm, Open MPI, MPICH or torchrun names)\n"
           "off: of its own run alone.",
       .is = ours,
       .set = set_trigger_group},
      {.name = "snapshots",
       .argument = "N",
       .help = "The most files that --trigger writes (20)",
       .is = ours,
       .set = number(1, 10'000, [](Options& o) -> int& { return o.most_snapshots; })},
      {.name = "max-size",
       .argument = "SIZE",
       .help = "Record no more when the file has this size, 2GB say; the program runs on",
       .is = ours,
       .set = set_max_size},
      {.name = "ranks",
       .argument = "LIST",
       .help =
           "Record all of these ranks, 0,::64 say: 0 and every 64th; of others only roll-ups, a\n"
           "megabyte an hour. gpuprof cluster build reads both (docs/cluster.md).",
       .is = ours,
       .set = set_ranks},
      {.name = "roll-up-every",
       .argument = "TIME",
       .help = "How often the ranks that --ranks leaves out are rolled up (2min)",
       .is = ours,
       .set = set_roll_up_every},
      {.name = "timeout",
       .letter = 't',
       .argument = "SECONDS",
       .help = "End the program with SIGTERM after this time\n"
               "It counts from the moment at which the program starts to use CUDA.",
       .is = common,
       .set = set_timeout},
      {.name = "profile-api-trace",
       .argument = "none|runtime|driver|all",
       .help = "CUDA calls to record (all)\n"
               "GPU work is joined to calls of the recorded kind only.",
       .set = set_api_trace},
      {.name = "concurrent-kernels",
       .argument = "on|off",
       .help =
           "off: run kernels one at a time, those of CUDA graphs excepted\n"
           "Run-time compilation, memory decompression, host functions and graphs as a whole are "
           "not recorded then.",
       .set = equals("on", [](Options& o) -> bool& { return o.trace.concurrent_kernels; })},
      {.name = "unified-memory-profiling",
       .argument = "per-process-device|off",
       .help = "Page migrations and faults of managed memory (on)",
       .set = group(Group::unified_memory)},
      {.name = "track-memory",
       .help = "Record the owners of memory: all allocations with the library that asked, also "
               "those of cuMemCreate, registered host memory and calls that found no memory, and "
               "what is free on the devices\n"
               "gpuprof memory FILE shows it.",
       .is = ours,
       .set = flag([](Options& options) { options.trace.memory = true; })},
      {.name = "stacks",
       .optional = "launches|off",
       .is_placeholder = true,
       .help =
           "--track-memory, and the functions of the host that called, Python's too\n"
           "gpuprof memory FILE --by stack shows them. The functions of Python that a CUDA call "
           "came from are recorded anyway where no system call is needed to read them: in the "
           "process's first thread, and in threads that hold the interpreter's lock. "
           "--stacks=launches records them in all threads, --stacks=off in none; gpuprof lines "
           "FILE shows their time.",
       .is = ours,
       .set = set_stacks},
      {.name = "native-stacks",
       .help = "--stacks=launches with native functions too, so also for programs without Python; "
               "files and lines where the program was built with -g\n"
               "gpuprof lines FILE shows their time.",
       .is = ours,
       .set = flag([](Options& options) {
         options.trace.launch_stacks = wire::LaunchStacks::all;
         options.trace.native_stacks = true;
       })},
      {.name = "host-samples",
       .optional = "RATE",
       .is_placeholder = true,
       .help = "Look from outside, RATE times a second (200), at what the threads of Python do, in "
               "child processes too\n"
               "gpuprof account FILE says in which lines the host was while the GPU had no work.",
       .is = ours,
       .set = set_host_samples},
      {.name = "track-memory-allocations",
       .argument = "on|off",
       .help = "Allocations and frees (on)",
       .set = group(Group::memory)},
      {.name = "system-profiling",
       .argument = "on|off",
       .help = "Clocks, temperature, power and fan (off)",
       .set = group(Group::environment)},
      {.name = "openacc-profiling",
       .argument = "on|off",
       .help = "OpenACC constructs (off)",
       .set = group(Group::openacc)},
      {.name = "openmp-profiling",
       .argument = "on|off",
       .help = "OpenMP constructs (off)",
       .set = group(Group::openmp)},
      {.name = "profile-child-processes", .help = "Profile children of the program too; always on"},
      {.name = "profile-all-processes",
       .help = "Profile whatever the user starts, anywhere",
       .status = Status::replaced,
       .why = "CUDA loads a profiler only into what the profiler starts; start the processes under "
              "gpuprof, such as gpuprof -o run-%p.sqlite sh"},
      {.name = "annotate-mpi",
       .argument = "off|openmpi|mpich",
       .help = "An NVTX range for each MPI call",
       .status = Status::not_yet,
       .why = "MPI calls have no ranges",
       .harmless = "off"},
      {.name = "cpu-thread-tracing",
       .argument = "on|off",
       .help = "Calls of the thread library",
       .status = Status::replaced,
       .why = "nothing in CUDA records thread calls any more; perf trace and strace -f show them",
       .harmless = "off"},
      {.name = "kernel-latency-timestamps",
       .argument = "on|off",
       .help = "When kernels were queued and submitted (off)",
       .set = equals("on", [](Options& o) -> bool& { return o.kernel_latency_timestamps; })},
      {.name = "hw-trace",
       .argument = "auto|on|off",
       .help =
           "Take times of kernels and copies from the hardware event system of Blackwell (off)\n"
           "auto: not on chips, drivers and versions of CUPTI where programs crashed with it.",
       .is = ours,
       .set = choose_hw_trace},
      {.name = "hw-trace-buffer",
       .argument = "MB",
       .help = "Memory of the host for these times, in each context (128)",
       .is = ours,
       .set = number(1, 65'536, [](Options& o) -> int& { return o.hw_trace.buffer_mb; })},
      {.name = "device-buffer-size",
       .argument = "MB",
       .help = "Memory of each buffer on the GPU for the times of kernels and copies (3.2 MB)\n"
               "That is enough for 100,000 of them.",
       .set = number(1, 4096, [](Options& o) -> int& { return o.device_buffers.megabytes; })},
      {.name = "device-buffers",
       .argument = "N",
       .help = "The most buffers on the GPU that CUPTI may have in a context (250, the least)\n"
               "Kernels come without times when all are full.",
       .is = ours,
       .set = number(250, 65'536, [](Options& o) -> int& { return o.device_buffers.most; })},
      {.name = "device-cdp-buffer-size",
       .argument = "MB",
       .help = "Memory for records of kernels that kernels launch",
       .status = Status::no_effect,
       .why = "CUPTI records no kernels launched by kernels any more",
       .set = number(1, INT_MAX)},
      {.name = "profiling-semaphore-pool-size",
       .argument = "N",
       .help = "Semaphores for serialized kernels",
       .status = Status::no_effect,
       .why = "CUPTI sizes its pools itself",
       .set = number(1, INT_MAX)},
      {.name = "flush-period",
       .argument = "MS",
       .help = "Milliseconds after which records are written at the latest (25; PC samples 500)",
       .is = ours,
       .set = number(1, 60'000, [](Options& o) -> int& { return o.flush_ms; })},
      {.name = "budget",
       .argument = "SHARE",
       .help = "Record less when gpuprof takes more of the program's time, 2% say: no more NVTX, "
               "then no more calls but those that request work, then none",
       .is = ours,
       .set = set_budget},
      {.name = "no-share",
       .help = "Keep CUPTI from other profilers in the program, such as torch.profiler\n"
               "They work otherwise, and get their own records.",
       .is = ours,
       .set = flag([](Options& o) { o.share = false; })},
      {.name = "activity-buffers",
       .argument = "N",
       .help = "Buffers of 1 MiB that CUPTI may fill at a time (256)",
       .is = ours,
       .set = number(4, 65'536, [](Options& o) -> int& { return o.slots; })},
      {.name = "cupti",
       .argument = "PATH",
       .help = "The libcupti to use, instead of gpuprof's own",
       .is = ours,
       .set = set_cupti},
  };
}

}  // namespace gpuprof::app
