#include "libprof/metrics/sampling_plan.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::metrics {
namespace {

// The default samples, the most telling first. For each, the first name that the chip has;
// "_realtime" counters are not spread over several reads.
struct Choice {
  std::array<std::string_view, 2> names;
  std::string_view roll_up;
  bool large = false;     // increases the size, and so the decoding time, of a sample considerably
  bool optional = false;  // CUPTI may refuse it on a board without such a link
};

constexpr std::string_view share = ".avg.pct_of_peak_sustained_elapsed";
constexpr std::string_view rate = ".sum.per_second";

constexpr std::array choices{
    Choice{{"gr__cycles_active"}, share},
    Choice{{"sm__cycles_active"}, share},
    Choice{{"sm__inst_executed_realtime"}, share, true},
    Choice{{"sm__warps_active_realtime"}, share, true},
    Choice{{"sm__pipe_tensor_cycles_active_realtime", "sm__pipe_tensor_cycles_active"}, share},
    Choice{{"dram__read_throughput"}, share, true},
    Choice{{"dram__write_throughput"}, share, true},
    Choice{{"dram__bytes_read", "dram__bytes_op_read"}, rate},
    Choice{{"dram__bytes_write", "dram__bytes_op_write"}, rate},
    Choice{{"lts__average_t_sector_hit_rate_realtime",
            "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime"},
           ".pct",
           true},
    Choice{{"pcie__read_bytes"}, rate},
    Choice{{"pcie__write_bytes"}, rate},
    Choice{{"gpc__cycles_elapsed"}, ".avg.per_second"},
    Choice{{"nvlrx__bytes"}, rate, false, true},
    Choice{{"nvltx__bytes"}, rate, false, true},
};

bool fits(const cupti::HostChip& chip, const std::vector<std::string>& counters) {
  auto image = chip.config_image(counters);
  return image && chip.passes(*image) == 1;
}

}  // namespace

std::vector<std::string> counters_of(std::span<const Metric> metrics) {
  std::vector<std::string> counters;
  for (const Metric& metric : metrics) {
    for (const std::string& counter : metric.counters) {
      if (std::ranges::find(counters, counter) == counters.end()) counters.push_back(counter);
    }
  }
  return counters;
}

SampledMetrics default_samples(const cupti::HostChip& chip, bool often) {
  SampledMetrics result;
  for (const Choice& choice : choices) {
    if (often && choice.large) continue;
    for (const std::string_view name : choice.names) {
      if (name.empty()) continue;
      result.names.push_back(std::string(name) + std::string(choice.roll_up));
      if (fits(chip, result.names)) {
        result.optional += choice.optional;
        break;
      }
      result.names.pop_back();
    }
  }
  return result;
}

std::vector<Metric> that_fit(const cupti::HostChip& chip, std::span<const Metric> metrics) {
  std::vector<Metric> result;
  for (const Metric& metric : metrics) {
    result.push_back(metric);
    if (!fits(chip, counters_of(result))) result.pop_back();
  }
  return result;
}

namespace {

[[noreturn]] void throw_too_many(const cupti::HostChip& chip, std::vector<Metric> metrics) {
  std::string sets;
  for (int number = 1; !metrics.empty(); ++number) {
    std::vector<Metric> set = that_fit(chip, metrics);
    if (set.empty()) set.assign(1, metrics.front());
    std::vector<std::string> names;
    for (const Metric& metric : set) {
      names.push_back(metric.name);
      std::erase_if(metrics, [&](const Metric& each) { return each.name == metric.name; });
    }
    sets += (number == 1 ? "" : "; ") + joined(names, ",");
    if (!fits(chip, counters_of(set))) sets += " (not even alone)";
  }
  throw Error("these metrics cannot be sampled together on " + chip.name() +
                  ": their counters do not fit into one pass",
              "these can, each set in its own run: " + sets, ExitCode::bad_option);
}

}  // namespace

void check_one_pass(const cupti::HostChip& chip, std::span<const Metric> metrics) {
  if (!fits(chip, counters_of(metrics))) throw_too_many(chip, {metrics.begin(), metrics.end()});
}

SampledMetrics checked_samples(const cupti::HostChip& chip, const std::vector<std::string>& names,
                               bool often) {
  const Catalogue catalogue(chip);
  std::vector<Metric> metrics;
  SampledMetrics result;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(result.names, name) != result.names.end()) return false;
    metrics.push_back(catalogue.metric(name));
    result.names.push_back(name);
    return true;
  };
  for (const std::string& name : names) {
    if (name != default_samples_word) {
      if (add(name)) result.optional = 0;  // a named metric must not be left out
      continue;
    }
    const SampledMetrics usual = default_samples(chip, often);
    bool whole = true;
    for (const std::string& each : usual.names) whole &= add(each);
    result.optional = whole ? usual.optional : 0;
  }
  check_one_pass(chip, metrics);
  return result;
}

}  // namespace gpuprof::metrics
