// Options for metrics and events.
#include <climits>
#include <cmath>

#include "apps/gpuprof/help/complete.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/chip_names.hpp"
#include "schema/metric_sets.hpp"

namespace gpuprof::app {
namespace {

std::vector<std::string> set_names(std::string_view = {}) {
  std::vector<std::string> names;
  for (const schema::MetricSet& set : schema::metric_sets) names.emplace_back(set.name);
  return names;
}

// Adds a set. `written`: how it was named; `value`: the whole list.
std::optional<Refusal> add_set(Options& options, MetricRequest& request, std::string_view name,
                               const std::string& written, const std::string& value) {
  const schema::MetricSet* const set = schema::find_metric_set(name);
  if (!set) {
    const auto near = nearest(name, set_names());
    return Refusal{.takes = joined(set_names(), ", ") +
                            (near.empty() ? "" : "; did you mean " + near.front() + "?"),
                   .part = written == value ? "" : written};
  }
  if (set->is_pc_sampling()) {
    turn_pc_sampling_on(options);
    options.pc_sampling.asked_by = "--set stalls";
  } else {
    request.sets.emplace_back(name);
  }
  return {};
}

// A comma-separated list of metrics or events, for the scope that was set last.
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

// Metrics, and sets of them with @ before the name.
std::optional<Refusal> request_metrics(Options& options, const std::string& value) {
  MetricRequest request = options.metrics.scope;
  for (std::string& name : split(value, ',')) {
    if (name.starts_with('@')) {
      if (auto refusal = add_set(options, request, name.substr(1), name, value)) return refusal;
    } else if (!name.empty()) {
      request.metrics.push_back(std::move(name));
    }
  }
  options.metrics.requests.push_back(std::move(request));
  return {};
}

// Sets of metrics, for the scope that was set last.
std::optional<Refusal> request_sets(Options& options, const std::string& value) {
  MetricRequest request = options.metrics.scope;
  for (const std::string& name : split(value, ',')) {
    if (auto refusal = add_set(options, request, name, name, value)) return refusal;
  }
  if (!request.sets.empty()) options.metrics.requests.push_back(std::move(request));
  return {};
}

std::string help_of_sets() {
  std::string help = "Sets of metrics: " + joined(set_names(), ", ");
  for (const schema::MetricSet& set : schema::metric_sets) {
    help += "\n" + std::string(set.name) + ": " + std::string(set.question);
  }
  return help +
         "\nWith commas between. As --metrics, which may be given too: --metrics-plan shows what "
         "is "
         "measured in how many runs of the program. gpuprof kernels shows the result.";
}

Set launches(std::uint64_t MetricRequest::*target) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    const auto number = parse<std::uint32_t>(value);
    if (!number) return Refusal{.takes = "a number"};
    options.metrics.scope.*target = *number;
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
                       "nvtx:NAME (a regular expression), or profiler for everything between "
                       "cudaProfilerStart and cudaProfilerStop"};
  }
  options.metrics.replay = MetricReplay::range;
  options.metrics.range.clear();
  if (value != "profiler") {
    const std::string name = value.substr(nvtx.size());
    options.metrics.range = name.empty() ? std::string(".") : name;
  }
  return wrong_expression(options.metrics.range);
}

std::optional<Refusal> set_left_out(Options& options, const std::string& value) {
  options.metrics.left_out = value;
  return wrong_expression(value);
}

constexpr char no_sampling_of_counters[] = "counters are read for each kernel, not over time";

}  // namespace

std::vector<Option> metric_options() {
  return {
      {.name = "metrics",
       .letter = 'm',
       .argument = "LIST",
       .help = "Metrics to collect for each kernel, with commas between\n"
               "Names of nvprof's and of CUPTI's (--query-metrics); all is every metric of "
               "nvprof's that the GPU has, @NAME a set (--set), such as @findings. May be given "
               "again for "
               "other kernels: --devices, "
               "--kernels, --launch-skip and --launch-count hold for the --metrics and --events "
               "after them. Values are in METRIC_VALUE and in the view kernel_metrics.",
       .is = common | once | not_with_import,
       .values = metric_names,
       .set = request_metrics},
      {.name = "set",
       .argument = "LIST",
       .help = help_of_sets(),
       .is = ours | common | once | not_with_import,
       .values = set_names,
       .set = request_sets},
      {.name = "query-metrics",
       .help = "List the metrics of a chip\n"
               "nvprof's names, computed from CUPTI's metrics, and these. Needs no GPU with "
               "--chip. With --csv or --json for programs.",
       .is = common | once | not_with_import,
       .set = flag([](Options& o) {
         o.action = Action::query;
         o.query.metrics = true;
       })},
      {.name = "events",
       .letter = 'e',
       .argument = "LIST",
       .help = "nvprof's events to collect, from the metrics that stand for them\n"
               "--query-events lists them.",
       .is = once | not_with_import,
       .values = event_names,
       .set = request(&MetricRequest::events)},
      {.name = "query-events",
       .help = "List nvprof's events that CUPTI's metrics of a chip can stand for",
       .is = once | not_with_import,
       .set = flag([](Options& o) {
         o.action = Action::query;
         o.query.events = true;
       })},
      {.name = "chip",
       .argument = "NAME",
       .help = "The chip that --query-metrics lists: GH100, or a product such as H200 or A100, or "
               "sm_90",
       .is = ours | once,
       .values = [](std::string_view) { return metrics::chip_names(); },
       .set = text([](Options& o) -> std::string& { return o.query.chip; })},
      {.name = "filter",
       .argument = "TEXT",
       .help = "List only names with this text, or in which this regular expression is found\n"
               "With passes that collecting takes; the whole name of a metric shows all of it.",
       .is = ours | once,
       .set = text([](Options& o) -> std::string& { return o.query.filter; })},
      {.name = "analysis-metrics",
       .help = "What the Visual Profiler analyses",
       .status = Status::replaced,
       .why = "there is no Visual Profiler for today's GPUs; name metrics with --metrics",
       .is = not_with_import},
      {.name = "aggregate-mode",
       .argument = "on|off",
       .help = "off: a value for each unit of the device",
       .status = Status::replaced,
       .why = "CUDA has no values of single units any more; metrics have .sum, .avg, .min, .max",
       .harmless = "on"},
      {.name = "event-collection-mode",
       .argument = "kernel|continuous",
       .help = "continuous: over the whole run and not for each kernel",
       .status = Status::not_yet,
       .why = no_sampling_of_counters,
       .harmless = "kernel"},
      {.name = "continuous-sampling-interval",
       .argument = "MS",
       .help = "Milliseconds between values in continuous mode",
       .status = Status::not_yet,
       .why = no_sampling_of_counters,
       .set = number(1, INT_MAX)},
      {.name = "replay-mode",
       .argument = "application|multiplex|kernel|range|disabled",
       .help = "How metrics are collected that do not fit into one pass (application)\n"
               "application: the program runs once for each group of metrics; the first run is "
               "also traced. Cheapest, for programs that do the same each time.\n"
               "multiplex: one run, in which groups take turns over windows of launches, within "
               "--metrics-overhead. For long runs of few kernels, such as training.\n"
               "kernel: each kernel runs several times on the same memory. Expensive; for programs "
               "that cannot run twice.\n"
               "range: one value for everything in a range of the program's own, see --range.\n"
               "disabled: one run, and an error when the metrics take more.",
       .set = set_replay_mode},
      {.name = "range",
       .argument = "RANGE",
       .help = "Measure ranges as a whole and not kernels: nvtx:NAME or profiler\n"
               "nvtx:NAME: NVTX push/pop ranges whose name contains this regular expression; "
               "profiler: everything between cudaProfilerStart and cudaProfilerStop.",
       .is = ours | once,
       .values =
           [](std::string_view) {
             return std::vector<std::string>{"nvtx:", "profiler"};
           },
       .set = set_range},
      {.name = "metrics-overhead",
       .argument = "PERCENT",
       .help = "Share of the run's time that --replay-mode multiplex may take (20%)",
       .is = ours,
       .set = set_overhead},
      {.name = "metrics-samples",
       .argument = "N",
       .help = "Launches of each kernel, grid and block that --replay-mode multiplex measures in "
               "each group, at most (32)\n"
               "Fewer, but at least 8, where each mean is known to 1 %.",
       .is = ours,
       .set = number(1, 1'000'000, [](Options& o) -> int& { return o.metrics.samples; })},
      {.name = "metrics-plan",
       .help = "Show which metrics are collected together, in how many passes, and what a kernel "
               "costs\nWithout an application nothing is run; with --chip no GPU is needed.",
       .is = ours | once | not_with_import,
       .set = flag([](Options& o) { o.metrics.plan = true; })},
      {.name = "require-metrics",
       .help = "Do not run the program when metrics cannot be collected (else it runs without)",
       .is = ours,
       .set = flag([](Options& o) { o.metrics.required = true; })},
      {.name = "launch-skip",
       .argument = "N",
       .help = "Launches to pass over before the first that is measured",
       .is = ours | once,
       .set = launches(&MetricRequest::skip)},
      {.name = "launch-count",
       .argument = "N",
       .help = "Launches to measure (0: all)",
       .is = ours | once,
       .set = launches(&MetricRequest::count)},
      {.name = "metrics-exclude",
       .argument = "REGEX",
       .help = "Kernels never to be measured, because they wait for others\n"
               "Under --replay-mode kernel cooperative and NCCL kernels are left out anyway.",
       .is = ours,
       .set = set_left_out},
      {.name = "cache-control",
       .argument = "all|none",
       .help = "all: empty the L2 cache before each pass of --replay-mode kernel (CUPTI 13.4 and "
               "newer)",
       .is = ours,
       .set = equals("all", [](Options& o) -> bool& { return o.metrics.reset_caches; })},
      {.name = "metrics-batch",
       .argument = "N",
       .help = "Launches between two readings of the counters (256, more in long runs)\n"
               "Larger costs less per launch and more to start: 0.6 ms per launch of the batch.",
       .is = ours,
       .set = number(1, 65'536, [](Options& o) -> int& { return o.metrics.batch; })},
      {.name = "hang-timeout",
       .argument = "SECONDS",
       .help = "A measured kernel that takes longer is taken for hanging, and measuring ends (10)",
       .is = ours,
       .set = number(1, 86'400, [](Options& o) -> int& { return o.metrics.hang_seconds; })},
      {.name = "keep-counter-data",
       .help = "With --save-capture: also keep the counter data that values come from",
       .is = ours,
       .set = flag([](Options& o) { o.metrics.keep_counter_data = true; })},
      {.name = "skip-kernel-replay-save-restore",
       .argument = "on|off",
       .help = "on: kernels run again on the memory they left",
       .status = Status::replaced,
       .why = "--replay-mode application never runs a kernel twice",
       .harmless = "off"},
  };
}

}  // namespace gpuprof::app
