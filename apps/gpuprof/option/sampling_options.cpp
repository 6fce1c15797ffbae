// Options for sampling over time.
#include <cmath>

#include "apps/gpuprof/help/complete.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/sampling_plan.hpp"

namespace gpuprof::app {
namespace {

std::optional<Refusal> set_metrics(Options& options, const std::string& value) {
  options.pm.on = true;
  options.pm.metrics.clear();
  for (std::string& name : split(value, ',')) {
    if (!name.empty()) options.pm.metrics.push_back(std::move(name));
  }
  if (options.pm.metrics.empty()) return Refusal{.takes = "names of metrics, with commas between"};
  return {};
}

struct Unit {
  std::string_view name;
  double factor;
};

// A number with one of the units, or nullopt.
template <std::size_t N>
std::optional<double> with_unit(std::string_view value, const Unit (&units)[N]) {
  for (const Unit& unit : units) {
    if (!value.ends_with(unit.name)) continue;
    const auto number = parse<double>(value.substr(0, value.size() - unit.name.size()));
    if (number && std::isfinite(*number)) return *number * unit.factor;
  }
  return {};
}

std::optional<Refusal> set_interval(Options& options, const std::string& value) {
  constexpr double least = 1'000;  // less than any GPU supports
  constexpr double most = 1e10;
  constexpr Unit times[]{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  constexpr Unit cycles[]{{"cycles", 1}};
  const auto ns = with_unit(value, times);
  const auto clocks = with_unit(value, cycles);
  const double number = ns ? *ns : clocks.value_or(0);
  if (!(number >= least && number <= most)) {
    return Refusal{.takes =
                       "a time such as 50us, from 1us to 10s, or a number of 1000cycles or more"};
  }
  options.pm.interval_ns = ns ? static_cast<std::uint64_t>(*ns) : 0;
  options.pm.interval_cycles = ns ? 0 : static_cast<std::uint64_t>(*clocks);
  return {};
}

std::optional<Refusal> set_buffer(Options& options, const std::string& value) {
  constexpr Unit sizes[]{{"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}};
  const double bytes = with_unit(value, sizes).value_or(0);
  if (!(bytes >= 65'536 && bytes <= 16e9)) {
    return Refusal{.takes = "a size such as 64M, from 64K to 14G"};
  }
  options.pm.buffer_bytes = static_cast<std::uint64_t>(bytes);
  return {};
}

}  // namespace

std::vector<Option> everything_option() {
  return {
      {.name = "everything",
       .help = "Trace all groups, and sample counters of the GPUs\n"
               "--trace all and --pm-sampling: what one run can have, in one file and on one "
               "clock. --pc-sampling, --metrics and --events need the same counters, which the "
               "driver lends to one of them at a time: run the program again for each.",
       .is = ours | once | not_with_import,
       .set = flag([](Options& o) {
         o.pm.on = true;
         o.trace.words = {"all"};
       })},
  };
}

std::vector<Option> sampling_options() {
  return {
      {.name = "pm-sampling",
       .help = "Sample counters of the GPUs over time, in addition to the trace\n"
               "How busy the GPU, its multiprocessors and tensor units are, memory, PCIe, NVLink: "
               "of whole GPUs, for all their processes, in a separate process. Values are in the "
               "views pm_samples and kernel_pm, and in --print-pm-sampling. CUPTI may hold the "
               "GPU's clocks meanwhile. Not with --pc-sampling or --metrics.",
       .is = ours | once | not_with_import,
       .set = flag([](Options& o) { o.pm.on = true; })},
      {.name = "pm-metrics",
       .argument = "LIST",
       .help = "Metrics to sample, with commas between (default)\n"
               "All have to fit into one pass; the word default means the usual ones, and at "
               "intervals below 100us for half of them: more are not decoded in time. "
               "--query-metrics --pm lists what can be sampled. Turns --pm-sampling on.",
       .is = ours | once | not_with_import,
       .values = metric_names,
       .set = set_metrics},
      {.name = "pm-interval",
       .argument = "TIME",
       .help = "A sample each 50us, 1ms, 100000cycles of the system clock, or the like (200us)\n"
               "A sample of all default metrics takes 60 to 100 us of processor cores. GPUs of the "
               "Turing line and A100 count in cycles, 1.4 for each ns of a time.",
       .is = ours,
       .set = set_interval},
      {.name = "pm-buffer",
       .argument = "SIZE",
       .help = "Room for samples on each GPU that were not read yet: 64M, 1G (256M)\n"
               "When it is full, samples are lost, which is reported (view pm_gaps).",
       .is = ours,
       .set = set_buffer},
      {.name = "pm-keep",
       .argument = "oldest|latest",
       .help = "Which samples stay when that is full (oldest)",
       .is = ours,
       .set = equals("latest", [](Options& o) -> bool& { return o.pm.keep_latest; })},
      {.name = "pm",
       .help = "--query-metrics lists what can be sampled over time, and what is by default",
       .is = ours | once | not_with_import,
       .set = flag([](Options& o) { o.query.samples = true; })},
  };
}

}  // namespace gpuprof::app
