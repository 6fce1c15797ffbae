#include "tests/fake_cupti/cupti/metrics.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>

namespace fake {

struct BaseMetric {
  const char* name;
  MetricType type;
  const char* description;
  const char* dimension;
  // Counter: `of` times `factor`. Ratio: the ratio. Throughput: the percentage.
  double factor;
  std::uint64_t Counts::*of = nullptr;
  double max_rate = 0;       // ratio
  std::uint32_t passes = 0;  // throughput
  bool device_level = false;
  int only_chip = -1;
};

namespace {

constexpr auto counter = MetricType::counter;
constexpr auto ratio = MetricType::ratio;
constexpr auto throughput = MetricType::throughput;
constexpr auto blocks = &Counts::blocks;
constexpr auto warps = &Counts::warps;
constexpr auto threads = &Counts::threads;
constexpr auto ns = &Counts::ns;

constexpr double instance_peak = 64;
constexpr std::uint32_t counters_per_pass = 4;

constexpr BaseMetric table[] = {
    {"dram__bytes_op_read", counter, "bytes read from DRAM", "byte", 1024, blocks, 0, 0, false, 1},
    {"dram__bytes_read", counter, "bytes read from DRAM", "byte", 1024, blocks, 0, 0, false, 0},
    {"dram__bytes_write", counter, "bytes written to DRAM", "byte", 512, blocks},
    {"dram__sectors_read", counter, "sectors read from DRAM", "sector", 32, blocks},
    {"dram__sectors_write", counter, "sectors written to DRAM", "sector", 16, blocks},
    {"gpc__cycles_elapsed", counter, "cycles elapsed on GPC", "cycle", 8, ns},
    {"gpu__time_duration", counter, "time the range took", "nanosecond", 1, ns},
    {"l1tex__t_bytes", counter, "bytes requested of L1", "byte", 8192, blocks},
    {"l1tex__t_bytes_pipe_lsu_mem_global_op_ld", counter, "bytes of global loads", "byte", 4096,
     blocks},
    {"l1tex__t_sectors", counter, "sectors requested of L1", "sector", 256, blocks},
    {"lts__t_bytes", counter, "bytes requested of L2", "byte", 4096, blocks},
    {"lts__t_sectors", counter, "sectors requested of L2", "sector", 128, blocks},
    {"lts__t_sectors_op_read", counter, "sectors read in L2", "sector", 96, blocks},
    {"lts__t_sectors_op_write", counter, "sectors written in L2", "sector", 32, blocks},
    {"nvlrx__bytes", counter, "bytes received over NVLink", "byte", 64, blocks, 0, 0, true},
    {"sm__ctas_launched", counter, "blocks launched", "cta", 1, blocks},
    {"sm__cycles_active", counter, "cycles with a warp in flight", "cycle", 4, ns},
    {"sm__cycles_elapsed", counter, "cycles elapsed on SM", "cycle", 8, ns},
    {"sm__inst_executed", counter, "warp instructions executed", "instruction", 10, warps},
    {"sm__warps_active", counter, "warps in flight, summed over cycles", "warp", 128, ns},
    {"sm__warps_launched", counter, "warps launched", "warp", 1, warps},
    {"smsp__cycles_active", counter, "cycles with a warp in flight", "cycle", 4, ns},
    {"smsp__inst_executed", counter, "warp instructions executed", "instruction", 10, warps},
    {"smsp__inst_issued", counter, "warp instructions issued", "instruction", 12, warps},
    {"smsp__issue_active", counter, "cycles that issued", "cycle", 12, warps},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on", counter, "float additions", "instruction",
     1, threads},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on", counter, "float multiply-adds",
     "instruction", 2, threads},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on", counter, "float multiplications",
     "instruction", 3, threads},
    {"smsp__thread_inst_executed", counter, "thread instructions executed", "instruction", 10,
     threads},
    {"smsp__warps_launched", counter, "warps launched", "warp", 1, warps},
    {"l1tex__t_sector_hit_rate", ratio, "sectors found in L1", "", 0.25, nullptr, 1},
    {"lts__t_sector_hit_rate", ratio, "sectors found in L2", "", 0.5, nullptr, 1},
    {"smsp__thread_inst_executed_per_inst_executed", ratio, "threads of an instruction", "", 24,
     nullptr, 32},
    {"gpu__compute_memory_throughput", throughput, "memory throughput", "percent", 31.25, nullptr,
     0, 2},
    {"sm__throughput", throughput, "SM throughput", "percent", 62.5, nullptr, 0, 3},
};
static_assert(std::size(table) <= 64);

constexpr const char* roll_ups[] = {".avg", ".max", ".min", ".sum"};

std::vector<const char*> make_suffixes(std::initializer_list<const char*> subs) {
  std::vector<const char*> made;
  for (const char* roll_up : roll_ups) {
    for (const char* sub : subs) made.push_back(strdup((std::string(roll_up) + sub).c_str()));
  }
  return made;
}

bool exists(const BaseMetric& base, std::uint32_t chip) {
  return base.only_chip < 0 || base.only_chip == static_cast<int>(chip);
}

std::string_view unit_of(const BaseMetric& base) {
  const std::string_view name = base.name;
  return name.substr(0, name.find("__"));
}

bool is_sass(const BaseMetric& base) { return std::strstr(base.name, "sass") != nullptr; }

}  // namespace

std::optional<std::uint32_t> find_chip(std::string_view name) {
  for (std::uint32_t chip = 0; chip < chips.size(); ++chip) {
    if (name == chips[chip]) return chip;
  }
  return {};
}

const std::vector<const char*>& suffixes(MetricType type) {
  static const auto* const of_counter = new std::vector<const char*>(
      make_suffixes({"", ".pct_of_peak_sustained_active", ".pct_of_peak_sustained_elapsed",
                     ".peak_sustained", ".per_cycle_active", ".per_cycle_elapsed", ".per_second"}));
  static const auto* const of_ratio = new std::vector<const char*>{".max_rate", ".pct", ".ratio"};
  static const auto* const of_throughput = new std::vector<const char*>(
      make_suffixes({".pct_of_peak_sustained_active", ".pct_of_peak_sustained_elapsed"}));
  switch (type) {
    case MetricType::counter: return *of_counter;
    case MetricType::ratio: return *of_ratio;
    default: return *of_throughput;
  }
}

std::optional<Metric> find_metric(std::uint32_t chip, std::string_view name) {
  const std::string_view stem = name.substr(0, name.find('.'));
  const std::string_view suffix = name.substr(stem.size());
  for (const BaseMetric& base : table) {
    if (stem != base.name || !exists(base, chip)) continue;
    // CUPTI takes a roll-up for part of a throughput's name, too.
    const auto fits = [&](std::string_view known) {
      return known == suffix || (known.starts_with(suffix) && known[suffix.size()] == '.');
    };
    if (!suffix.empty() &&
        std::none_of(suffixes(base.type).begin(), suffixes(base.type).end(), fits)) {
      return {};
    }
    return Metric{&base, suffix};
  }
  return {};
}

bool is_whole(const Metric& metric) {
  const auto& known = suffixes(metric.base->type);
  return std::find(known.begin(), known.end(), metric.suffix) != known.end();
}

std::vector<const char*> base_metrics(std::uint32_t chip, MetricType type) {
  std::vector<const char*> names;
  for (const BaseMetric& base : table) {
    if (base.type == type && exists(base, chip)) names.push_back(base.name);
  }
  return names;
}

MetricType type_of(const Metric& metric) { return metric.base->type; }
const char* description(const Metric& metric) { return metric.base->description; }
bool is_device_level(const Metric& metric) { return metric.base->device_level; }
std::uint64_t bit(const Metric& metric) { return std::uint64_t{1} << (metric.base - table); }

const char* unit(const Metric& metric) {
  static const auto* const names = [] {
    auto* made = new std::map<std::string_view, const char*>;
    for (const BaseMetric& base : table) {
      const std::string_view name = unit_of(base);
      if (!made->contains(name)) made->emplace(name, strdup(std::string(name).c_str()));
    }
    return made;
  }();
  return names->at(unit_of(*metric.base));
}

const char* dimension(const Metric& metric) {
  if (metric.suffix.find(".pct") != metric.suffix.npos) return "percent";
  if (metric.suffix.ends_with(".per_second") && std::strcmp(metric.base->dimension, "byte") == 0) {
    return "byte/second";
  }
  return metric.base->dimension;
}

bool add(Plan& plan, std::uint32_t chip, std::span<const char* const> names) {
  std::map<std::string_view, std::uint32_t> counters;
  std::uint64_t bits = 0;
  std::uint32_t passes = 0;
  std::size_t device_level = 0;
  bool sass = false, sass_cycles = false;
  for (const char* name : names) {
    const std::optional<Metric> metric = name ? find_metric(chip, name) : std::nullopt;
    if (!metric) return false;
    if (!is_whole(*metric)) return false;
    if (metric->base->device_level) ++device_level;
    if (is_sass(*metric->base)) {
      sass = true;
      sass_cycles |= std::count(metric->suffix.begin(), metric->suffix.end(), '.') > 1;
    } else if (!(bits & bit(*metric))) {
      const std::string_view unit = unit_of(*metric->base);
      const std::uint32_t takes = metric->base->type == ratio ? 2 : 1;
      if (metric->base->type == throughput) {
        passes += metric->base->passes;
      } else {
        counters[unit == "smsp" ? "sm" : unit] += takes;
      }
    }
    bits |= bit(*metric);
  }
  if (bits == 0 || (device_level != 0 && device_level != names.size())) return false;
  if (sass_cycles) ++counters["gpc"];
  std::uint32_t most = 0;
  for (const auto& [unit, count] : counters) most = std::max(most, count);
  plan.metrics |= bits;
  plan.passes += passes + (most + counters_per_pass - 1) / counters_per_pass + (sass ? 1 : 0);
  return true;
}

double value(const Metric& metric, std::uint32_t chip, const Counts& counts, std::uint64_t part) {
  const BaseMetric& base = *metric.base;
  const bool inside_sm = unit_of(base).starts_with("sm") || unit_of(base) == "l1tex";
  if (part > 0 && !inside_sm) return std::numeric_limits<double>::quiet_NaN();
  const std::string_view suffix = metric.suffix;
  if (base.type == throughput) return base.factor;
  if (base.type == ratio) {
    if (suffix == ".max_rate") return base.max_rate;
    return suffix == ".pct" ? 100 * base.factor / base.max_rate : base.factor;
  }
  const double all = unit_of(base) == "gpu" ? 1 : chip == 0 ? 4 : 8;
  const double instances = part > 0 ? static_cast<double>(part) : all;
  const bool sum = suffix.starts_with(".sum");
  const double total = base.factor * static_cast<double>(counts.*base.of);
  const double rolled = sum ? total : total / instances;
  const double peak = sum ? instance_peak * instances : instance_peak;
  const double active = static_cast<double>(counts.ns), elapsed = 2 * active;
  if (suffix.ends_with(".peak_sustained")) return peak;
  if (suffix.ends_with(".per_second")) return rolled / active * 1e9;
  if (suffix.ends_with(".per_cycle_active")) return rolled / active;
  if (suffix.ends_with(".per_cycle_elapsed")) return rolled / elapsed;
  if (suffix.ends_with("_active")) return 100 * rolled / active / peak;
  if (suffix.ends_with("_elapsed")) return 100 * rolled / elapsed / peak;
  return rolled;
}

}  // namespace fake
